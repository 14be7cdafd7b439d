// The database addresses that are accepted, and the messages for other addresses.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withoutPassword } from "../../../src/lib/text.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import { makeCertificate } from "../../support/http/certificate.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { freePort, makePostgres, startPostgres, type TestPostgres } from "../../support/postgres/server.ts";
import { runProgram } from "../../support/programs/processes.ts";

let folder: string;
/** The file with the server's certificate, which is for `localhost` and not for 127.0.0.1. */
let certificate: string;
let server: TestPostgres;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "storefront-address-"));
  server = await makePostgres({
    settings: { ssl: "on", ssl_cert_file: join(folder, "server.crt"), ssl_key_file: join(folder, "server.key") },
  });
  const { cert, key } = makeCertificate(Date.now(), []);
  certificate = writeForServer("server.crt", cert);
  writeForServer("server.key", key);
  await server.start();
});
afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

describe("an address", () => {
  test("has hosts, ports, a login and settings, each with its default", () => {
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
      },
    );
    expect(parseAddress("postgresql://a%40b:p%3Aw%2F@/")).toMatchObject({
      hosts: [{ host: "localhost", port: 5432 }],
      user: "a@b",
      password: "p:w/",
      database: undefined,
    });
  });

  test("takes each setting up to its bounds, and the flags in the three spellings of each", () => {
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
    "postgres://h:65536/db": "is not a host",
    "postgres://h:0/db": "is not a host",
    "postgres://u:100%@h/db": "write a percent sign as %25",
    "postgres://h/db?sslrootcert=/nowhere": "sslrootcert cannot be read",
    "mysql://u:secret@h/db": '"mysql://u:...@h/db" is not a database address',
  };
  for (const [url, message] of Object.entries(wrong)) {
    test(`${url} is rejected with the reason`, async () => {
      const error = await openEngine(url, allResources).catch((thrown) => thrown);
      expect(error.code).toBe("bad-request");
      expect(error.message).toContain(message);
    });
  }

  test("is shown without its password", () => {
    expect(withoutPassword("postgres://u:secret@h1,h2/db?x=y")).toBe("postgres://u:...@h1,h2/db?x=y");
  });
});

describe("a database that cannot be used is named in one clear line", () => {
  const list = (url: string) => runProgram(["site", "list", "--database", url]);
  const cases: Record<string, { url: () => Promise<string>; says: string }> = {
    "a wrong password": {
      url: async () => (await server.createDatabase()).replace(/:[^:@/]+@/, ":wrong@"),
      says: "the database refuses this user or password",
    },
    "an unknown user": {
      url: async () => (await server.createDatabase()).replace(/\/\/[^:]+:/, "//nobody:"),
      says: "the database refuses this user or password",
    },
    "a missing database": {
      url: async () => server.url("missing"),
      says: "the database server has no such database; create it first",
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
      says: "the database was made by a newer program (schema 99, this one knows 1): upgrade this program",
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

  test("is used when the server has it, and not when it is disabled", async () => {
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

  test("verifies the certificate and the name when the address says so", async () => {
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

  test("is an error, and not ignored, when it is required and the server has none", async () => {
    const plain = await startPostgres();
    const error = await openEngine(`${await plain.createDatabase()}?sslmode=require`, allResources).catch((e) => e);
    expect(error.code).toBe("unavailable");
    await plain.remove();
  });
});

test("ten processes that start at once on an empty database make its tables once", async () => {
  const url = await server.createDatabase();
  const ended = await Promise.all(Array.from({ length: 10 }, () => runProgram(["site", "list", "--database", url])));
  for (const { status, stderr } of ended) expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(await runProgram(["check", "--database", url])).toMatchObject({ status: 0 });
});

/** The server wants its key to be readable by no other user. */
function writeForServer(name: string, text: string): string {
  const { runAs } = postgresPrograms();
  const path = join(folder, name);
  chmodSync(folder, 0o755);
  writeFileSync(path, text, { mode: 0o600 });
  if (runAs.uid !== undefined) chownSync(path, runAs.uid, runAs.gid as number);
  return path;
}
