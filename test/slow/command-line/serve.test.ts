import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { makeCertificate } from "../../support/http/certificate.ts";
import { freePort } from "../../support/postgres/server.ts";
import { childrenOf } from "../../support/programs/children.ts";
import {
  fetchWithKey,
  openWorkspace,
  quote,
  type Served,
  type Started,
  type Workspace,
} from "../../support/programs/command.ts";
import { letPass, waitUntil } from "../../support/time.ts";

const storefront = fileURLToPath(new URL("../../../storefront", import.meta.url));
let workspace: Workspace;
beforeEach(() => {
  workspace = openWorkspace();
});
afterEach(() => workspace.close());

async function newKey(): Promise<string> {
  await workspace.data.addSite("main", { isDefault: true });
  return await workspace.data.addKey("main");
}

/** Runs the indented lines of a server's output in a shell, as if pasted, and returns the shell's output. */
async function paste({ stdout }: Pick<Served, "stdout">) {
  const lines = stdout()
    .split("\n")
    .filter((line) => line.startsWith("  "));
  const ours = (file: string) => `${quote(process.execPath)} ${quote(fileURLToPath(new URL(file, import.meta.url)))}`;
  const curl = Bun.which("curl")
    ? 'curl() { command curl -sS "$@"; }'
    : `curl() { ${ours("../../support/programs/curl.ts")} "$@"; }`;
  const child = Bun.spawn(["sh", "-c", [curl, ...lines].join("\n")], {
    cwd: workspace.folder,
    stdout: "pipe",
    stderr: "pipe",
  });
  return { text: await new Response(child.stdout).text(), errors: await new Response(child.stderr).text() };
}

/** Sends a request's header section and part of its body. `finish` sends the rest of the body. */
async function openRequest(url: string, key: string) {
  const { hostname, port } = new URL(url);
  let response = "";
  let isClosed = false;
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_socket, bytes) {
        response += bytes.toString();
      },
      close() {
        isClosed = true;
      },
    },
  });
  const body = '{"Name":"Late"}';
  const header = `POST /restapi/brands.json HTTP/1.1\r\nHost: x\r\nX-API-AUTH: ${key}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(header);
  await waitUntil(() => response.includes("100 Continue"), "the server to have the request");
  socket.write(body.slice(0, 3));
  return {
    finish: () => void socket.write(body.slice(3)),
    received: () => response,
    isClosed: () => isClosed,
  };
}

describe("serve", () => {
  test.each([[[]], [["--workers", "2"]]])("rejects a port in use in one line %j", async (more: string[]) => {
    const server = await workspace.serve();
    const port = new URL(server.url).port;
    const { code, stdout, stderr } = await workspace.run(["serve", "--port", port, ...more]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      `storefront: can't listen on 127.0.0.1:${port}: the port is already in use; choose another with --port\n`,
    );
  });

  test("rejects a port shared by another server's workers", async () => {
    const server = await workspace.serve(["--workers", "2"]);
    const port = new URL(server.url).port;
    for (const workers of ["1", "2"]) {
      const args = [
        "serve",
        "--port",
        port,
        "--workers",
        workers,
        "--database",
        `sqlite:${workspace.file("other.db")}`,
      ];
      const { code, stderr } = await workspace.run(args);
      expect([code, stderr]).toEqual([
        1,
        `storefront: can't listen on 127.0.0.1:${port}: the port is already in use; choose another with --port\n`,
      ]);
    }
  });

  test.each([
    ["--host", ["--host", "192.0.2.1", "--port", "8080"]],
    ["--host", ["--host", "192.0.2.1", "--port", "8080", "--workers", "2"]],
    ["--admin", ["--port", "0", "--admin", "192.0.2.1:8081"]],
  ])("rejects another machine's address and names %s: %j", async (option, args) => {
    const { code, stdout, stderr } = await workspace.run(["serve", ...args]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`this machine doesn't have that address; choose another with ${option}`);
  });

  const misused: [string, string[], Record<string, string>][] = [
    ["an unknown option", ["--prot", "1"], {}],
    ["a port that is not a number", ["--port", "http"], {}],
    ["a port above the maximum", ["--port", "65536"], {}],
    ["no workers", ["--workers", "0"], {}],
    ["a certificate without its key", ["--tls-cert", "x.pem"], {}],
    ["an unknown log level", ["--log", "loud"], {}],
    ["a bad setting in the environment", [], { STOREFRONT_IDLE_TIMEOUT: "never" }],
    ["an unknown kind of database", ["--database", "mysql://x"], {}],
  ];
  test.each(misused)("rejects %s", async (_, args, env) => {
    const { code, stdout, stderr } = await workspace.run(["serve", ...args], { env, asProcess: false });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).not.toContain("    at ");
  });

  test("takes every option from the environment too, but the command line has priority", async () => {
    const help = await workspace.mustRun(["serve", "--help"]);
    const names = [...help.matchAll(/^ +--([a-z-]+)/gm)].map(([, name]) => name as string);
    const options = names.filter((name) => !["json", "as"].includes(name));
    expect(options.length).toBeGreaterThan(10);
    for (const name of options.filter((option) => !["host", "port", "database", "demo", "as"].includes(option))) {
      const variable = `STOREFRONT_${name.toUpperCase().replaceAll("-", "_")}`;
      const { stderr, code } = await workspace.run(["serve"], {
        env: { [variable]: "no such thing" },
        asProcess: false,
      });
      expect([name, code]).toEqual([name, 2]);
      expect(stderr).toContain(name.startsWith("tls") ? "must be set together" : `(${variable})`);
    }
    const server = await workspace.serve([], {
      env: { STOREFRONT_PORT: "1", STOREFRONT_HOST: "127.0.0.1", STOREFRONT_DEMO: "yes" },
    });
    await waitUntil(() => server.stdout().includes("X-API-AUTH: sfk_"), "the key");
  });
});

describe("PORT from a hosting platform", () => {
  test.each<[string, string, Record<string, string>]>([
    ["alone", "4321", { PORT: "4321" }],
    ["overridden by STOREFRONT_PORT", "4322", { PORT: "4321", STOREFRONT_PORT: "4322" }],
    ["with an empty STOREFRONT_PORT", "4321", { PORT: "4321", STOREFRONT_PORT: "" }],
    ["with STOREFRONT_PORT set by Kubernetes", "4321", { PORT: "4321", STOREFRONT_PORT: "tcp://10.0.0.1:80" }],
    ["meant for another program", "8080", { PORT: "COM3" }],
    ["from a Docker link", "8080", { PORT: "tcp://10.0.0.1:80" }],
    ["empty", "8080", { PORT: "" }],
  ])("%s: a server listens on %s", async (_, port, env) => {
    // Nothing listens on this address.
    const { stderr } = await workspace.run(["health"], { env: { ...env, STOREFRONT_HOST: "127.9.9.9" } });
    expect(stderr).toContain(`no response from http://127.9.9.9:${port}/readyz`);
  });

  test.each([
    ["used without arguments", [], true],
    ["with workers", ["--workers", "2"], true],
    ["overridden by --port", ["--port", "0"], false],
  ])("%s", async (_, args, isUsed) => {
    const PORT = String(await freePort());
    const server = workspace.start(["serve", ...args], { env: { PORT } });
    const [, port] = await server.until(/listening on http:\/\/127\.0\.0\.1:(\d+)/);
    expect(port === PORT).toBe(isUsed);
  });

  test("above the maximum is rejected", async () => {
    const { code, stderr } = await workspace.run(["serve"], { env: { PORT: "65536" }, asProcess: false });
    expect([code, stderr]).toEqual([2, expect.stringContaining("(STOREFRONT_PORT or PORT) must be")]);
  });
});

test("STOREFRONT_PORT set by Kubernetes for a service named storefront is ignored", async () => {
  const env = { STOREFRONT_PORT: "tcp://10.0.0.1:8080" };
  await workspace.mustRun(["site", "add", "main"], { env });
  const next = await workspace.run(["serve", "--workers", "0"], { env, asProcess: false });
  expect([next.code, next.stderr]).toEqual([2, expect.stringContaining("--workers (STOREFRONT_WORKERS) must be")]);
  const other = await workspace.run(["site", "list"], { env: { STOREFRONT_PORT: "http://10.0.0.1:8080" } });
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("--port (STOREFRONT_PORT or PORT) must be")]);
});

describe("serve --demo", () => {
  test("prints a link to the console, and the command for another one", async () => {
    const server = await workspace.serve(["--demo", "--admin", "127.0.0.1:0"]);
    const url = server.adminUrl ?? "";
    await waitUntil(() => server.stdout().includes(`${url}/#sign-in=`), "the link", { output: server.stderr });
    expect(server.stderr()).toContain(`For another: ${storefront} operator link demo --url ${url}\n`);
  });

  test("creates a site in an empty database, and prints a command that lists its records", async () => {
    const server = await workspace.serve(["--demo"]);
    await waitUntil(() => server.stdout().includes("curl"), "the curl line");
    const { text, errors } = await paste(server);
    expect(errors).toBe("");
    expect(JSON.parse(text).map(({ Name }: { Name: string }) => Name)).toContain("Blåbær & Sønner");
  });

  test("creates no site if there are some, and prints commands that list their records", async () => {
    await workspace.data.addSite("mine", { hostnames: ["mine.example"] });
    const server = await workspace.serve(["--demo", "--database", workspace.database]);
    await waitUntil(() => server.stdout().includes("curl"), "the curl line");
    expect(await paste(server)).toMatchObject({ text: "[]" });
    expect(JSON.parse(await workspace.mustRun(["site", "list", "--json"]))).toHaveLength(1);
  });

  test("creates one site even if several servers start at once on one database", async () => {
    const servers = await Promise.all([1, 2, 3].map(() => workspace.serve(["--demo"])));
    expect(servers).toHaveLength(3);
    expect(JSON.parse(await workspace.mustRun(["site", "list", "--json"]))).toHaveLength(1);
  });
});

describe("serve with TLS", () => {
  test("serves HTTPS, and prints a command that lists records", async () => {
    const { cert, key } = makeCertificate();
    writeFileSync(workspace.file("cert.pem"), cert);
    writeFileSync(workspace.file("key.pem"), key);
    const server = await workspace.serve(["--demo", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    expect(server.url).toStartWith("https://127.0.0.1:");
    const response = await fetch(`${server.url}/healthz`, { tls: { ca: cert } });
    expect(response.status).toBe(200);
    await waitUntil(() => server.stdout().includes("curl"), "the curl line");
    expect(JSON.parse((await paste(server)).text).length).toBeGreaterThan(3);
    await expect(fetch(server.url.replace("https:", "http:"))).rejects.toThrow();
  });

  test("rejects missing or invalid certificate files in one line", async () => {
    const serve = (file: string) => workspace.run(["serve", "--port", "0", "--tls-cert", file, "--tls-key", file]);
    expect(await serve("missing.pem")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/can't read missing.pem/),
    });
    writeFileSync(workspace.file("junk.pem"), "junk");
    expect(await serve("junk.pem")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/aren't a PEM certificate and its private key/),
    });
  });
});

test("a server without the JIT compiler, as under memory limits, serves requests and sees other processes' commits", async () => {
  const key = await newKey();
  // `ulimit -v` makes the runtime do without it.
  const server = await workspace.serve([], { env: { BUN_JSC_useJIT: "0" } });
  const read = () => fetchWithKey(`${server.url}/restapi/brands.json`, key);
  expect(
    (await fetchWithKey(`${server.url}/restapi/brands.json`, key, { method: "POST", body: '{"Name":"x"}' })).status,
  ).toBe(201);
  expect(await (await read()).json()).toHaveLength(1);
  await workspace.mustRun(["key", "revoke", key]);
  expect((await read()).status).toBe(401);
});

describe("SIGTERM and SIGINT", () => {
  test.each([
    "SIGTERM",
    "SIGINT",
  ] as const)("%s lets requests in flight finish, then the server exits with 0", async (signal) => {
    const key = await newKey();
    const server = await workspace.serve();
    expect((await fetchWithKey(`${server.url}/restapi/brands.json`, key)).status).toBe(200);
    const request = await openRequest(server.url, key);
    server.kill(signal);
    await waitUntil(
      () =>
        fetch(server.url).then(
          () => false,
          () => true,
        ),
      "no new connections",
    );
    server.kill(signal);
    request.finish();
    await waitUntil(() => request.received().includes("201 Created"), "the response", { output: request.received });
    expect(await server.exited).toBe(0);
    expect(await workspace.mustRun(["export", "--site", "main", "brands"])).toContain("Late");
  });

  test("an idle connection kept alive doesn't delay the exit", async () => {
    const key = await newKey();
    const server = await workspace.serve();
    const request = await openRequest(server.url, key);
    request.finish();
    await waitUntil(() => request.received().includes("201 Created"), "the response");
    const begun = performance.now();
    server.kill();
    expect(await server.exited).toBe(0);
    // Otherwise, the exit would take 10 seconds.
    expect(performance.now() - begun).toBeLessThan(8000);
    await waitUntil(request.isClosed, "the connection's end");
  });
});

test.each([
  "1",
  "2",
])("with --drain and %s workers, the server keeps serving after SIGTERM, but isn't ready", async (workers) => {
  const key = await newKey();
  const server = await workspace.serve([
    "--workers",
    workers,
    "--drain",
    "3600",
    "--admin",
    "127.0.0.1:0",
    "--log",
    "info",
  ]);
  const ready = () => fetch(`${server.url}/readyz`);
  expect((await ready()).status).toBe(200);
  server.kill();
  await waitUntil(async () => (await ready()).status === 503, "not ready");
  expect(await (await ready()).json()).toHaveProperty("detail", "the server is shutting down; try again");
  const write = { method: "POST", body: '{"Name":"Late"}', headers: { Connection: "close" } };
  const written = await fetchWithKey(`${server.url}/restapi/brands.json`, key, write);
  expect([written.status, written.headers.get("connection")]).toEqual([201, "close"]);
  expect((await fetch(`${server.adminUrl}/metrics`)).status).toBe(200);
  server.kill("SIGHUP");
  await waitUntil(() => server.stderr() !== "", "the response to SIGHUP");
  expect(server.stderr()).toBe(
    workers === "1"
      ? "storefront: nothing to reload, because there's no certificate and only one worker\n"
      : "storefront: the server is stopping, so no process was replaced\n",
  );
  for (const pid of [...childrenOf(server.pid), server.pid]) process.kill(pid, "SIGKILL");
});

test.each(["1", "2"])("once the time of --drain is up, a server with %s workers exits with 0", async (workers) => {
  const server = await workspace.serve(["--workers", workers, "--drain", "1"]);
  const begun = performance.now();
  server.kill();
  expect(await server.exited).toBe(0);
  expect(performance.now() - begun).toBeGreaterThan(990);
  expect(server.stderr()).toBe("");
});

describe("SIGUSR1 and SIGUSR2", () => {
  const others = ["SIGUSR1", "SIGUSR2"] as const;

  test("stop neither the server nor a request in flight, and are logged", async () => {
    const key = await newKey();
    const server = await workspace.serve(["--log", "info"]);
    const request = await openRequest(server.url, key);
    for (const signal of others) {
      server.kill(signal);
      await waitUntil(() => server.stderr().includes(`"signal":"${signal}","msg":"signal ignored"`), signal, {
        output: server.stderr,
      });
    }
    request.finish();
    await waitUntil(() => request.received().includes("201 Created"), "the response", { output: request.received });
    server.kill();
    expect(await server.exited).toBe(0);
  });

  test("stop neither workers nor their parent", async () => {
    const server = await workspace.serve(["--workers", "2", "--log", "info"]);
    const pids = [server.pid, ...childrenOf(server.pid)];
    expect(pids).toHaveLength(3);
    for (const signal of others) {
      for (const pid of pids) {
        process.kill(pid, signal);
        await waitUntil(() => server.stderr().includes(`"pid":${pid},"signal":"${signal}"`), signal, {
          output: server.stderr,
        });
      }
    }
    expect(childrenOf(server.pid)).toEqual(pids.slice(1));
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });
});

test("a log that can't be written because of a full disk or a closed pipe delays no request", async () => {
  const wraps = [(command: string) => `${command} 2> /dev/full`, (command: string) => `${command} 2> >(true)`];
  for (const wrap of wraps) {
    const server = await workspace.serve(["--log", "debug"], {
      wrap: (command) => `exec bash -c ${quote(wrap(command))}`,
    });
    for (let n = 0; n < 5; n++) expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    server.kill();
    expect(await server.exited).toBe(0);
  }
});

describe("serve --workers", () => {
  const isAlive = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  test("share one port, are replaced when killed, and all end on SIGTERM", async () => {
    const key = await newKey();
    const server = await workspace.serve(["--workers", "3"]);
    const before = childrenOf(server.pid);
    expect(before).toHaveLength(3);
    const read = () => fetchWithKey(`${server.url}/restapi/brands.json`, key, { headers: { Connection: "close" } });
    expect(await Promise.all(Array.from({ length: 30 }, async () => (await read()).status))).toEqual(
      Array(30).fill(200),
    );
    process.kill(before[0] as number, "SIGKILL");
    await waitUntil(() => childrenOf(server.pid).filter((pid) => !before.includes(pid)).length === 1, "a new worker");
    await waitUntil(() => server.stderr().includes("restarting it"), "its message");
    await waitUntil(async () => (await read()).status === 200, "a response");
    const last = childrenOf(server.pid);
    server.kill();
    expect(await server.exited).toBe(0);
    expect(last.filter(isAlive)).toEqual([]);
  });

  test("read each other's writes immediately", async () => {
    const key = await newKey();
    const server = await workspace.serve(["--workers", "2"]);
    for (let n = 1; n <= 20; n++) {
      const body = JSON.stringify({ Name: `Brand ${n}` });
      await fetchWithKey(`${server.url}/restapi/brands.json`, key, {
        method: "POST",
        body,
        headers: { Connection: "close" },
      });
      const read = await fetchWithKey(`${server.url}/restapi/brands.json`, key, { headers: { Connection: "close" } });
      expect(await read.json()).toHaveLength(n);
    }
  });

  test("end when their parent is killed, even while they're starting", async () => {
    /** Kills a parent once it has started, or earlier. Returns how long its workers took to start. */
    async function killParent(beforeKill: (parent: Started) => Promise<unknown>): Promise<number> {
      const parent = workspace.start(["serve", "--port", "0", "--log", "silent", "--workers", "2"], { stdin: "" });
      await waitUntil(() => childrenOf(parent.pid).length > 0, "a worker");
      const begun = performance.now();
      await beforeKill(parent);
      const workers = childrenOf(parent.pid);
      parent.kill("SIGKILL");
      const took = performance.now() - begun;
      await waitUntil(() => workers.every((pid) => !isAlive(pid)), `the workers' end, ${took} ms after their start`);
      return took;
    }
    const whole = await killParent((parent) => parent.until(/listening on/));
    for (const part of [0, 0.3, 0.8]) await killParent(() => letPass(part * whole));
  });
});
