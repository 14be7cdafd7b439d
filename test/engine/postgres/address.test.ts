// Which database addresses are accepted, and the messages for others.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withoutPassword } from "../../../src/lib/text.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import { makeCertificate } from "../../support/http/certificate.ts";
import { postgresPrograms, reachableTmpdir } from "../../support/postgres/programs.ts";
import { freePort, makePostgres, startPostgres, type TestPostgres } from "../../support/postgres/server.ts";
import { runProgram } from "../../support/programs/processes.ts";
import { startTcpProxy } from "../../support/wire/tcp-proxy.ts";

let folder: string;
/** The folder of the server's Unix socket. */
let sockets: string;
/** The file with the server's certificate, which is for `localhost` and not for 127.0.0.1. */
let certificate: string;
let server: TestPostgres;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "storefront-address-"));
  sockets = mkdtempSync(join(reachableTmpdir(postgresPrograms().runAs), "socket-"));
  giveToServer(sockets);
  server = await makePostgres({
    settings: {
      ...{ ssl: "on", ssl_cert_file: join(folder, "server.crt"), ssl_key_file: join(folder, "server.key") },
      unix_socket_directories: sockets,
    },
  });
  const { cert, key } = makeCertificate(Date.now(), []);
  certificate = writeForServer("server.crt", cert);
  writeForServer("server.key", key);
  await server.start();
});
afterAll(async () => {
  await server.remove();
  for (const each of [folder, sockets]) rmSync(each, { recursive: true, force: true });
});

describe("an address", () => {
  test("hosts, ports, login and settings, each with its default", () => {
    expect(parseAddress("postgres://h1,h2:6000,[::1]:7000/shop?pool_size=20&statement_timeout=900&prepare=no")).toEqual(
      {
        hosts: [
          { host: "h1", port: 5432 },
          { host: "h2", port: 6000 },
          { host: "::1", port: 7000 },
        ],
        database: "shop",
        user: undefined,
        password: undefined,
        tls: "prefer",
        poolSize: 20,
        timeoutMs: 900,
        prepare: false,
        options: undefined,
      },
    );
    expect(parseAddress("postgresql://a%40b:p%3Aw%2F@/")).toMatchObject({
      hosts: [{ host: "localhost", port: 5432 }],
      user: "a@b",
      password: "p:w/",
      database: undefined,
    });
  });

  test("settings up to their limits, and flags in all three spellings", () => {
    const read = (settings: string) => parseAddress(`postgres://h/db?${settings}`);
    expect([read("pool_size=2").poolSize, read("pool_size=1000").poolSize]).toEqual([2, 1000]);
    expect([read("statement_timeout=100").timeoutMs, read("statement_timeout=600000").timeoutMs]).toEqual([
      100, 600_000,
    ]);
    expect(read("")).toMatchObject({ poolSize: 10, timeoutMs: 2000, prepare: true });
    expect(["yes", "true", "1"].map((value) => read(`prepare=${value}`).prepare)).toEqual([true, true, true]);
    expect(["no", "false", "0"].map((value) => read(`prepare=${value}`).prepare)).toEqual([false, false, false]);
    expect(parseAddress("postgres://h:1,h:65535/db").hosts.map(({ port }) => port)).toEqual([1, 65_535]);
  });

  const wrong = {
    "postgres://h/db?sslmod=require": 'unknown parameter "sslmod"; did you mean sslmode?',
    "postgres://h/db?sslmode=maybe": "sslmode must be",
    "postgres://h/db?pool_size=1": "pool_size must be a whole number from 2 to 1000",
    "postgres://h/db?pool_size=1001": "pool_size must be a whole number from 2 to 1000",
    "postgres://h/db?statement_timeout=99": "statement_timeout must be a whole number from 100 to 600000",
    "postgres://h/db?statement_timeout=600001": "statement_timeout must be",
    "postgres://h/db?statement_timeout=soon": "statement_timeout must be",
    "postgres://h/db?prepare=perhaps": "prepare must be yes or no",
    "postgres://h:65536/db": "isn't a host",
    "postgres://h:0/db": "isn't a host",
    "postgres://::1/db": "need brackets",
    "postgres://u:100%@h/db": "write `%` as %25",
    "postgres://h/db?sslmode=require&sslmode=disable": '"sslmode" appears 2 times',
    "postgres://h/db?constructor=1": 'unknown parameter "constructor"; remove it',
    "postgres://h/db?sslrootcert=/nowhere": "can't read sslrootcert",
  };
  for (const [url, message] of Object.entries(wrong)) {
    test(`${url} is rejected with the reason`, async () => {
      const error = await openEngine(url, allResources).catch((thrown) => thrown);
      expect(error.code).toBe("bad-request");
      expect(error.message).toContain(message);
    });
  }

  test.each([
    ["postgres://u:secret@h1,h2/db?x=y", "postgres://u:...@h1,h2/db?x=y"],
    ["postgres://u@server:se/cr@et?@h/db", "postgres://u@server:...@h/db"],
    ["jdbc:postgresql://h/db?user=u&password=secret&ssl=true", "jdbc:postgresql://h/db?user=u&password=...&ssl=true"],
    ["host=h user=u password = 'sec ret' dbname=db", "host=h user=u password=... dbname=db"],
    ["Server=h;User Id=u;Password=secret;", "Server=h;User Id=u;Password=...;"],
    ["postgres:u:secret@h/db", "postgres:...@h/db"],
    ["u:secret@h/db", "u:...@h/db"],
    ["postgres://u@h:5432/db", "postgres://u@h:5432/db"],
    ["sqlite:a@b/x:y@z.db", "sqlite:a@b/x:y@z.db"],
    ["PGPASSWORD=secret psql -h h", "PGPASSWORD=... psql -h h"],
  ])("%s is shown without its password", (url, shown) => {
    expect(withoutPassword(url)).toBe(shown);
  });
});

describe("a service's address", () => {
  const secret = { user: "u", password: "pw" };
  const verified = { rejectUnauthorized: true };
  test.each<[string, string, object]>([
    ["Heroku", "postgres://u:pw@ec2-1-2-3-4.amazonaws.com:5432/d1", { ...secret, tls: "prefer" }],
    ["Render", "postgresql://u:pw@dpg-x-a.frankfurt-postgres.render.com/shop_ab", { ...secret, database: "shop_ab" }],
    ["Fly", "postgres://u:pw@shop-db.flycast:5432/shop?sslmode=disable", { ...secret, tls: false }],
    [
      "DigitalOcean",
      "postgresql://u:pw@db-1.b.db.ondigitalocean.com:25060/defaultdb?sslmode=require",
      { tls: "require" },
    ],
    ["Neon's pooler", "postgresql://u:pw@ep-x-pooler.eu.aws.neon.tech/neondb?sslmode=require", { prepare: true }],
    ["Neon without SNI", "postgres://u:pw@h/db?options=endpoint%3Dep-cool-1", { options: "endpoint=ep-cool-1" }],
    [
      "Neon, by its project",
      "postgres://u:pw@h/db?sslmode=require&options=project%3Dep-1",
      { options: "project=ep-1" },
    ],
    ["Supabase", "postgresql://postgres.ref:pw@aws-0-eu.pooler.supabase.com:5432/postgres", { user: "postgres.ref" }],
    ["Supabase's pooler", "postgres://u:pw@h:6543/postgres?pgbouncer=true", { ...secret, prepare: false }],
    ["CockroachDB", "postgresql://u:pw@h:26257/db?options=--cluster%3Dshop-1", { options: "--cluster=shop-1" }],
    [
      "Azure",
      "postgres://u@server:pw@server.postgres.database.azure.com:5432/db",
      { user: "u@server", password: "pw" },
    ],
    ["Prisma", "postgresql://u:pw@h:5432/db?schema=public", secret],
    ["RDS", "postgres://u:pw@h:5432/db?sslmode=verify-full&sslrootcert=system", { tls: verified }],
    ["libpq", "postgresql://u:pw@h1:5432,h2:5433/db?target_session_attrs=read-write&channel_binding=prefer", secret],
    ["Cloud SQL", "postgresql://u:pw@/db?host=/cloudsql/p:r:i", { hosts: [{ host: "/cloudsql/p:r:i", port: 5432 }] }],
    ["Cloud SQL, encoded", "postgres://u:pw@%2Fcloudsql%2Fp%3Ar%3Ai/db", { hosts: [{ host: "/cloudsql/p:r:i" }] }],
    ["libpq, host and port", "postgresql:///db?host=h&port=5433", { hosts: [{ host: "h", port: 5433 }] }],
    ["Cloud SQL for Prisma", "postgres://u:pw@localhost/db?host=/cloudsql/p", { hosts: [{ host: "/cloudsql/p" }] }],
    ["in capitals", "POSTGRES://u:pw@h/db", secret],
    ["@ in the password", "postgres://u:p@s@h/db", { password: "p@s", hosts: [{ host: "h" }] }],
    [": and # in the password", "postgres://u:p:#w@h/db", { password: "p:#w" }],
    ["+ and [ in the password", "postgres://u:p+[w@h/db", { password: "p+[w" }],
  ])("%s: %s is understood", (_, url, expected) => {
    expect(parseAddress(url)).toMatchObject(expected);
  });

  const escaped = "postgres://u:s3%2Fcr@h/db";
  /** The last column is the address after the advice was followed. */
  test.each<[url: string, advice: string, followed: string]>([
    [
      "postgres://u:s3cr@h/db?sslmode=require&channel_binding=require",
      "verify-full",
      "postgres://u@h/db?sslmode=verify-full",
    ],
    ["postgres://u:s3cr@h/db?connection_limit=1", "write pool_size", "postgres://u@h/db?pool_size=2"],
    ["postgres://u:s3cr@h/db?connect_timeout=15&pool_timeout=0", "remove it", "postgres://u@h/db"],
    ["postgres://u:s3cr@h/db?application_name=shop", "remove it", "postgres://u@h/db"],
    ["postgres://u:s3cr@h/db?schema=shop", "alter role", "postgres://u@h/db"],
    ["postgres://u:s3cr@h/db?options=-c%20search_path%3Dshop", "alter role", "postgres://u@h/db"],
    ["postgres://u:s3cr@h/db?target_session_attrs=any", "remove it", "postgres://u@h/db"],
    ["postgres://u:s3cr@h/db?pgbouncer=yes", "write prepare=no", "postgres://u@h/db?prepare=no"],
    ["postgres://u:s3cr@h/db?ssl=true", "write sslmode=require", "postgres://u@h/db?sslmode=require"],
    ["postgres://u:s3cr@h/db?sslmode=no-verify", "require", "postgres://u@h/db?sslmode=require"],
    ["postgres://u:s3cr@h/db?sslaccept=strict", "write sslmode=verify-full", "postgres://u@h/db?sslmode=verify-full"],
    ["postgres://u:s3cr@h/db?sslcert=a.pem&sslkey=b.pem", "client certificates", "postgres://u@h/db"],
    ["postgres://h/db?user=u&password=s3cr", "before the host", "postgres://u:s3cr@h/db"],
    ["postgres://u:s3/cr@h/db", "`/` as %2F", escaped],
    ["postgres://u:s3?cr@h/db", "`?` as %3F", "postgres://u:s3%3Fcr@h/db"],
    ["postgres://u:s3?cr@h/db?sslmode=require", "`?` as %3F", "postgres://u:s3%3Fcr@h/db?sslmode=require"],
    ["postgres://u:s3?sslmode=cr@h/db", "`?` as %3F", "postgres://u:s3%3Fsslmode=cr@h/db"],
    ["postgres://u:a@s3/cr@h/db", "`/` as %2F", "postgres://u:a@s3%2Fcr@h/db"],
    ["postgres://u:s3cr/db", "isn't a host", "postgres://u:s3cr@h/db"],
    ["postgres://u:[YOUR-PASSWORD]@h/db", "placeholder", escaped],
    ["postgres://u:****************@h/db", "placeholder", escaped],
    ["postgres://u:s3cr@/cloudsql/p:r:i/db", "?host=", "postgres://u:s3cr@/db?host=/cloudsql/p:r:i"],
    ["jdbc:postgresql://h/db?user=u&password=s3cr", "start with `postgres`", "postgresql://h/db"],
    ["psql 'postgresql://u:s3cr@h/db'", "start with `postgres`", "postgresql://u:s3cr@h/db"],
    ['"postgres://u:s3cr@h/db"', "without quotes", "postgres://u:s3cr@h/db"],
    ["DATABASE_URL=postgres://u:s3cr@h/db", "start with `postgres`", "postgres://u:s3cr@h/db"],
    ["postgresql+psycopg2://u:s3cr@h/db", "start it with postgres://", "postgres://u:s3cr@h/db"],
    ["host=h port=5432 dbname=db user=u password=s3cr", "write postgres://", "postgres://u:s3cr@h:5432/db"],
    ["Server=h;Database=db;User Id=u;Password=s3cr;", "write postgres://", "postgres://u:s3cr@h:5432/db"],
    ["mysql://u:s3cr@h/db", "is not a database address", "postgres://u:s3cr@h/db"],
  ])("%s is rejected; the advice gives an address that works, and no password is shown", async (url, advice, followed) => {
    const error = await openEngine(url, allResources).catch((thrown) => thrown);
    expect(error.code).toBe("bad-request");
    expect(error.message).toContain(advice);
    expect(error.message).not.toContain("s3");
    expect(() => parseAddress(followed)).not.toThrow();
  });
});

test("Unix socket: its folder in `host`, or as the host; sslmode doesn't matter without TLS", async () => {
  const url = new URL(await server.createDatabase());
  const login = `${url.username}:${url.password}`;
  for (const address of [
    `postgres://${login}@${url.pathname}?host=${sockets}&port=${server.port}&sslmode=require`,
    `postgres://${login}@${encodeURIComponent(sockets)}:${server.port}${url.pathname}`,
  ]) {
    const engine = await openEngine(address, allResources);
    expect(engine.isNew).toBe(address.includes("host="));
    await engine.close();
  }
});

test("startup options reach the service", async () => {
  // The proxy is a service that takes the option away.
  const proxy = await startTcpProxy(server.port, { "endpoint=ep-1": "-c a.b=c     " });
  const address = (await server.createDatabase()).replace(`:${server.port}/`, `:${proxy.port}/`);
  await (await openEngine(`${address}?sslmode=disable&options=endpoint%3Dep-1`, allResources)).close();
  expect(proxy.count("endpoint=ep-1")).toBeGreaterThan(0);
  await proxy.stop();
});

describe("an unusable database is reported in one clear line", () => {
  const list = (url: string) => runProgram(["site", "list", "--database", url]);
  const cases: Record<string, { url: () => Promise<string>; says: string }> = {
    "a wrong password": {
      url: async () => (await server.createDatabase()).replace(/:[^:@/]+@/, ":wrong@"),
      says: "the database rejected this user or password",
    },
    "an unknown user": {
      url: async () => (await server.createDatabase()).replace(/\/\/[^:]+:/, "//nobody:"),
      says: "the database rejected this user or password",
    },
    "a missing database": {
      url: async () => server.url("missing"),
      says: "there's no such database on the server; create it first",
    },
    "a server that is not there": {
      url: async () => server.url("test", `127.0.0.1:${await freePort()}`),
      says: "ECONNREFUSED",
    },
    "several servers that are not there": {
      url: async () => server.url("test", `127.0.0.1:${await freePort()},127.0.0.1:${await freePort()}`),
      says: "no primary among the hosts",
    },
    "a schema newer than the program": {
      url: async () => {
        const url = await server.createDatabase();
        await (await openEngine(url, allResources)).close();
        await server.run("update storefront_schema set version = 99", /[^/]+$/.exec(url)?.[0]);
        return url;
      },
      says: "the database was made by a newer version of this program (schema 99, this one knows 1); upgrade this one",
    },
    "a user who may not make tables": {
      url: async () => {
        const url = await server.createDatabase();
        await server.run("create role guest login password 'guest'");
        return url.replace(/\/\/[^@]+@/, "//guest:guest@");
      },
      says: "it must own the database or its schema",
    },
  };
  for (const [name, { url, says }] of Object.entries(cases)) {
    test(name, async () => {
      const { status, stdout, stderr } = await list(await url());
      expect(stderr).toContain(says);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    });
  }
});

describe("TLS to the database", () => {
  const hosts = () => `localhost:${server.port}`;
  /** The name of the database that `open` has opened last. */
  let opened = "";
  const open = async (query: string, at = hosts()) => {
    opened = /[^/]+$/.exec(await server.createDatabase())?.[0] as string;
    return openEngine(`${server.url(opened, at)}?${query}`, allResources);
  };
  /** Whether the connections to that database are encrypted. An engine has one or more of them. */
  const isEncrypted = async () => {
    const rows = await server.run(
      `select distinct s.ssl from pg_stat_ssl s join pg_stat_activity a using (pid)
        where a.application_name = 'storefront' and a.datname = '${opened}'`,
    );
    return rows.map(({ ssl }) => ssl);
  };

  test("used if the server has it, unless it's disabled", async () => {
    for (const [query, encrypted] of [
      ["", true],
      ["sslmode=require", true],
      ["sslmode=disable", false],
    ] as const) {
      const engine = await open(query);
      expect(await isEncrypted()).toEqual([encrypted]);
      await engine.close();
    }
  });

  test("verifies the certificate and name if the address says so", async () => {
    await (await open(`sslmode=verify-full&sslrootcert=${certificate}`)).close();
    await (await open(`sslmode=verify-ca&sslrootcert=${certificate}`, `127.0.0.1:${server.port}`)).close();
    for (const [query, at] of [
      ["sslmode=verify-full", hosts()],
      [`sslmode=verify-full&sslrootcert=${certificate}`, `127.0.0.1:${server.port}`],
    ] as const) {
      const error = await open(query, at).catch((thrown) => thrown);
      expect(error.code).toBe("unavailable");
      expect(error.message).toMatch(/cert|altname|self.signed/i);
    }
  });

  test("an error if it's required and the server has none", async () => {
    const plain = await startPostgres();
    const error = await openEngine(`${await plain.createDatabase()}?sslmode=require`, allResources).catch((e) => e);
    expect(error.code).toBe("unavailable");
    await plain.remove();
  });
});

test("empty database: ten processes starting at once create the tables once", async () => {
  const url = await server.createDatabase();
  const ended = await Promise.all(Array.from({ length: 10 }, () => runProgram(["site", "list", "--database", url])));
  for (const { status, stderr } of ended) expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(await runProgram(["check", "--database", url])).toMatchObject({ status: 0 });
});

/** The server wants its key to be readable by no other user. */
function writeForServer(name: string, text: string): string {
  const path = join(folder, name);
  chmodSync(folder, 0o755);
  writeFileSync(path, text, { mode: 0o600 });
  giveToServer(path);
  return path;
}

function giveToServer(path: string): void {
  const { runAs } = postgresPrograms();
  if (runAs.uid !== undefined) chownSync(path, runAs.uid, runAs.gid as number);
}
