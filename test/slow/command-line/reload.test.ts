// A server that gets SIGHUP replaces its processes and reloads its certificate.

import { describe, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { engines } from "../../support/engine/engines.ts";
import { makeCertificate } from "../../support/http/certificate.ts";
import { childrenOf } from "../../support/programs/children.ts";
import { type Served, useWorkspace, type Workspace } from "../../support/programs/command.ts";
import { waitUntil } from "../../support/time.ts";
import { openClient, toRequest } from "../../support/wire/client.ts";

const node = Bun.which("node") ?? process.execPath;
const loadClient = fileURLToPath(new URL("../../support/wire/load-client.mjs", import.meta.url));

/** The output of test/support/wire/load-client.mjs. */
interface LoadCounts {
  readonly kept: number;
  readonly single: number;
  readonly closes: number;
  readonly failures: readonly string[];
}

/** Makes a request close its connection, which would otherwise hold up the replacement of its process. */
const closing = { headers: { Connection: "close" } };

/** Sends SIGHUP, and waits until `message` is on stderr. */
async function reload(server: Served, message: RegExp): Promise<void> {
  const before = server.stderr().length;
  server.kill("SIGHUP");
  await waitUntil(() => message.test(server.stderr().slice(before)), String(message), { output: server.stderr });
}

describe.each(engines)("SIGHUP on $name", (kind) => {
  let workspace: Workspace;
  useWorkspace(kind, (opened) => {
    workspace = opened;
  });

  const onLinux = test.skipIf(process.platform !== "linux");
  onLinux("completes a request in flight, and an idle connection serves one more request", async () => {
    await workspace.data.addSite("main", { isDefault: true });
    const key = await workspace.data.addKey("main");
    const server = await workspace.serve(["--workers", "2"]);
    const port = Number(new URL(server.url).port);
    const slow = await openClient(port);
    slow.send(toRequest("POST /restapi/brands.json HTTP/1.1", [`X-API-AUTH: ${key}`, "Content-Length: 12"], '{"Nam'));
    const idle = await openClient(port);
    idle.send(toRequest("GET /healthz HTTP/1.1"));
    await idle.responses(1);
    const before = listenersAt(port);
    server.kill("SIGHUP");
    await waitUntil(() => childrenOf(server.pid).length === 3, "a successor");
    expect((await fetch(`${server.url}/healthz`, closing)).status).toBe(200);
    await waitUntil(() => before.some((one) => !listenersAt(port).includes(one)), "a listener to be closed");
    slow.send('e":"x"}');
    idle.send(toRequest("GET /healthz HTTP/1.1"));
    expect((await slow.responses(1))[0]?.status).toBe(201);
    expect((await idle.responses(2))[1]?.status).toBe(200);
    for (const { socket } of [slow, idle]) socket.destroy();
    await waitUntil(() => server.stderr().includes("replaced 2 processes"), "the end", { output: server.stderr });
  });

  // The other tests don't depend on the engine.
  if (kind !== engines[0]) return;

  test("replaces all workers and the admin process under load, and every kept connection gets all its responses", async () => {
    await workspace.data.addSite("main");
    const server = await workspace.serve(["--workers", "2", "--admin", "127.0.0.1:0"]);
    const before = childrenOf(server.pid);
    const load = Bun.spawn([node, loadClient, `${server.url}/readyz`, "4", "2"], { stdin: "pipe", stdout: "pipe" });
    await waitUntil(async () => (await servedRequests(server)) > 100, "the load");
    await reload(server, /replaced 3 processes/);
    load.stdin.end();
    const { kept, single, closes, failures } = (await new Response(load.stdout).json()) as LoadCounts;
    const after = childrenOf(server.pid);
    expect(after).toHaveLength(3);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
    expect(closes).toBeGreaterThan(0);
    expect(failures).toEqual([]);
    expect(await servedRequests(server)).toBe(kept + single);
  });
});

describe("SIGHUP", () => {
  let workspace: Workspace;
  useWorkspace(engines[0] as (typeof engines)[number], (opened) => {
    workspace = opened;
  });

  // One server for all of this, because every replacement starts two processes.
  test("during a replacement leads to one more; ended processes leave no open file in the parent; SIGTERM ends all processes, even those being replaced", async () => {
    const server = await workspace.serve(["--workers", "2"]);
    const first = childrenOf(server.pid);
    server.kill("SIGHUP");
    await waitUntil(() => childrenOf(server.pid).length === 3, "a successor");
    for (let count = 0; count < 5; count++) server.kill("SIGHUP");
    await waitUntil(() => server.stderr().split("replaced 2 processes").length > 2, "two reloads", {
      output: server.stderr,
    });
    expect(childrenOf(server.pid).filter((pid) => first.includes(pid))).toEqual([]);

    const openFiles = () => (process.platform === "linux" ? readdirSync(`/proc/${server.pid}/fd`).length : 0);
    const before = openFiles();
    await reload(server, /replaced 2 processes/);
    expect(openFiles()).toBe(before);

    const client = await openClient(Number(new URL(server.url).port));
    server.kill("SIGHUP");
    await waitUntil(() => childrenOf(server.pid).length === 3, "a successor");
    const last = childrenOf(server.pid);
    server.kill();
    expect(await server.exited).toBe(0);
    expect(last.filter(isAlive)).toEqual([]);
    client.socket.destroy();
  });
});

describe("SIGHUP after an upgrade", () => {
  let workspace: Workspace;
  useWorkspace(engines[0] as (typeof engines)[number], (opened) => {
    workspace = opened;
  });

  const root = fileURLToPath(new URL("../../..", import.meta.url));

  /** Copies the program into the workspace's folder as version 7.0.1. Returns the path of its main file. */
  function install(): string {
    for (const part of ["src", "docs"]) cpSync(join(root, part), workspace.file(part), { recursive: true });
    symlinkSync(join(root, "node_modules"), workspace.file("node_modules"));
    setVersion("7.0.1");
    return workspace.file("src/main.ts");
  }

  function setVersion(version: string): void {
    const described = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    writeFileSync(workspace.file("package.json"), JSON.stringify({ ...described, version }));
  }

  async function versionsOf({ adminUrl }: Served): Promise<string[]> {
    const text = await (await fetch(`${adminUrl}/metrics`, closing)).text();
    return [...text.matchAll(/^storefront_build_info\{version="([^"]+)"/gm)].map(([, version]) => version as string);
  }

  test("starts workers of the new version; if one doesn't start, that's reported and no process is replaced", async () => {
    const main = install();
    const server = await workspace.serve(["--workers", "2", "--admin", "127.0.0.1:0"], { main });
    expect(await versionsOf(server)).toEqual(["7.0.1"]);
    setVersion("7.0.2");
    await reload(server, /replaced 3 processes/);
    expect(await versionsOf(server)).toEqual(["7.0.2"]);
    const before = childrenOf(server.pid);
    writeFileSync(main, "throw new Error('this is not complete');\n");
    await reload(server, /this is not complete[\s\S]*couldn't start; replaced 0 of 3 processes, and kept the others/);
    expect(childrenOf(server.pid)).toEqual(before);
    expect((await fetch(`${server.url}/healthz`, closing)).status).toBe(200);
    cpSync(join(root, "src/main.ts"), main);
    setVersion("7.0.3");
    await reload(server, /replaced 3 processes/);
    expect(await versionsOf(server)).toEqual(["7.0.3"]);
  });

  test("replaces workers that can't send their metrics but still serve requests", async () => {
    const main = install();
    const file = workspace.file("src/lib/metrics.ts");
    writeFileSync(file, readFileSync(file, "utf8").replace('import("prom-client")', 'import("no-such-library")'));
    const server = await workspace.serve(["--workers", "2", "--admin", "127.0.0.1:0", "--log", "error"], { main });
    const before = childrenOf(server.pid);
    const metrics = async () => (await fetch(`${server.adminUrl}/metrics`, closing)).status;
    // The status is 503 if the workers don't respond in time.
    await waitUntil(async () => (await metrics()) === 500, "the fault");
    expect((await fetch(`${server.url}/healthz`, closing)).status).toBe(200);
    expect(childrenOf(server.pid)).toEqual(before);
    expect(server.stderr()).toContain("couldn't send this worker's metrics");
    await reload(server, /replaced 3 processes/);
    server.kill();
    expect(await server.exited).toBe(0);
  });
});

describe("SIGHUP with TLS", () => {
  let workspace: Workspace;
  useWorkspace(engines[0] as (typeof engines)[number], (opened) => {
    workspace = opened;
  });
  const options = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

  /** Writes a new certificate, and returns it. */
  function renewCertificate(now = Date.now()): string {
    const { cert, key } = makeCertificate(now);
    writeFileSync(workspace.file("cert.pem"), cert);
    writeFileSync(workspace.file("key.pem"), key);
    return cert;
  }

  /** Whether a new connection gets this certificate. */
  const has = ({ url }: Served, ca: string) =>
    fetch(`${url}/healthz`, { ...closing, tls: { ca } }).then(
      ({ ok }) => ok,
      () => false,
    );

  test("gives new connections the new certificate while kept connections continue", async () => {
    const first = renewCertificate();
    const server = await workspace.serve(options);
    const socket = connect({ port: Number(new URL(server.url).port), host: "127.0.0.1", ca: first });
    const kept = await openClient(0, socket);
    expect(await has(server, first)).toBe(true);
    const second = renewCertificate();
    expect(await has(server, second)).toBe(false);
    await reload(server, /reloaded the certificate/);
    expect([await has(server, second), await has(server, first)]).toEqual([true, false]);
    kept.send(toRequest("GET /healthz HTTP/1.1"));
    expect((await kept.responses(1))[0]?.status).toBe(200);
    socket.destroy();
    server.kill();
    expect(await server.exited).toBe(0);
  });

  /** Ways to damage a file, and the server's message for each. */
  const faults: [string, () => void, RegExp][] = [
    [
      "is not PEM",
      () => writeFileSync(workspace.file("cert.pem"), "junk"),
      /aren't a PEM certificate and its private key/,
    ],
    ["is empty", () => writeFileSync(workspace.file("key.pem"), ""), /aren't a PEM certificate and its private key/],
    [
      "belongs to another key",
      () => writeFileSync(workspace.file("cert.pem"), makeCertificate().cert),
      /aren't a PEM certificate and its private key/,
    ],
    ["is missing", () => Bun.spawnSync(["rm", workspace.file("key.pem")]), /ENOENT|can't read/],
  ];
  test("reports a file that can't be used, and the server keeps the previous certificate", async () => {
    let current = renewCertificate();
    const server = await workspace.serve(options);
    for (const [, spoil, message] of faults) {
      const before = server.stderr().length;
      spoil();
      await reload(server, message);
      expect(server.stderr().slice(before)).toContain("the server keeps using the previous certificate");
      expect(await has(server, current)).toBe(true);
      current = renewCertificate();
      await reload(server, /reloaded the certificate/);
      expect(await has(server, current)).toBe(true);
    }
  });

  test.each([
    "1",
    "2",
  ])("reports an expired certificate, as does the server's start, with %s workers", async (workers) => {
    const expired = Date.parse("2026-03-01T12:00:00Z");
    renewCertificate(expired);
    const server = await workspace.serve([...options, "--workers", workers]);
    const report =
      "storefront: the certificate in cert.pem expired on 2026-03-02T12:00:00.000Z; clients will reject it\n";
    expect(server.stderr()).toBe(report);
    const valid = renewCertificate();
    await reload(server, /reloaded the certificate|replaced 2 processes/);
    expect(await has(server, valid)).toBe(true);
    expect(server.stderr().split(report)).toHaveLength(2);
    renewCertificate(expired);
    await reload(server, /expired on 2026-03-02/);
    expect(server.stderr().split(report)).toHaveLength(3);
  });

  test("reports a bad file with two workers, and new workers use the previous certificate", async () => {
    const first = renewCertificate();
    const server = await workspace.serve([...options, "--workers", "2"]);
    const before = childrenOf(server.pid);
    writeFileSync(workspace.file("cert.pem"), "junk");
    process.kill(before[0] as number, "SIGKILL");
    await waitUntil(() => childrenOf(server.pid).filter((pid) => !before.includes(pid)).length === 1, "a new worker");
    await reload(
      server,
      /aren't a PEM certificate and its private key[\s\S]*keeps using the previous certificate[\s\S]*replaced 2 processes/,
    );
    for (let count = 0; count < 20; count++) expect(await has(server, first)).toBe(true);
  });
});

/** The inodes of the sockets listening on a port of 127.0.0.1 (proc_net_tcp(5)). */
function listenersAt(port: number): string[] {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const sockets = readFileSync("/proc/net/tcp", "utf8").split("\n");
  return sockets
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, local, , state, , , , , , inode]) => (local === address && state === "0A" ? [inode as string] : []));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The number of requests that the metrics count. */
async function servedRequests({ adminUrl }: Served): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`, closing)).text();
  const counts = text.matchAll(/^storefront_http_requests_total\{.*\} (\d+)$/gm);
  return [...counts].reduce((total, [, count]) => total + Number(count), 0);
}
