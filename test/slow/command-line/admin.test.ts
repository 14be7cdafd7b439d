// A running server's admin listener (contract section 13).

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { freePort } from "../../support/postgres/server.ts";
import { childrenOf } from "../../support/programs/children.ts";
import { openWorkspace, type Served, type Workspace } from "../../support/programs/command.ts";
import { waitUntil } from "../../support/time.ts";
import { openClient, toRequest } from "../../support/wire/client.ts";

let workspace: Workspace;
beforeEach(() => {
  workspace = openWorkspace();
});
afterEach(() => workspace.close());

const anyPort = ["--admin", "127.0.0.1:0"];
/** Reads the metrics, retrying after a 503, which means the processes of a busy machine didn't answer in time. */
const metricsOf = ({ adminUrl }: Served) =>
  waitUntil(async () => {
    const response = await fetch(`${adminUrl}/metrics`);
    return response.status !== 503 && response.text();
  }, "the metrics");
const requestsIn = (text: string) =>
  Number(/^storefront_http_requests_total\{route="\/healthz",method="GET",status="200"\} (\d+)$/m.exec(text)?.[1] ?? 0);

async function sendRequests({ url }: Served, count: number): Promise<void> {
  const statuses = Array.from({ length: count }, async () => {
    const response = await fetch(`${url}/healthz`, { headers: { Connection: "close" } });
    return response.status;
  });
  expect(await Promise.all(statuses)).toEqual(Array(count).fill(200));
}

describe("admin listener", () => {
  const shared = openWorkspace();
  let server: Served;
  let adminUrl = "";
  beforeAll(async () => {
    server = await shared.serve([...anyPort, "--admin-host", "ops.example,metrics.ops.example"]);
    adminUrl = server.adminUrl ?? "";
  });
  afterAll(() => shared.close());

  test("serves the metrics; the public port doesn't", async () => {
    await sendRequests(server, 3);
    const response = await fetch(`${adminUrl}/metrics`);
    expect(response.headers.get("Content-Type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(requestsIn(await response.text())).toBe(3);
    expect((await fetch(`${server.url}/metrics`)).ok).toBe(false);
  });

  test("sends no header that lets pages from other origins read it", async () => {
    for (const path of ["/metrics", "/nothing"]) {
      for (const method of ["GET", "OPTIONS"]) {
        const { headers } = await fetch(adminUrl + path, { method, headers: { Origin: "https://evil.example" } });
        expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
        expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
      }
    }
  });

  const hosts: [string, number][] = [
    ["127.0.0.1", 200],
    ["127.0.0.1:8081", 200],
    ["192.168.1.20:8081", 200],
    ["[::1]:8081", 200],
    ["localhost:8081", 200],
    ["LOCALHOST.", 200],
    ["ops.example", 200],
    ["Metrics.Ops.Example:9", 200],
    ["evil.example", 421],
    ["sub.ops.example", 421],
    ["localhost.evil.example", 421],
    ["127.0.0.1.evil.example", 421],
    ["127.0.0.1@evil.example", 400],
    ["[evil.example]", 400],
    ["0x7f000001", 421],
    ["127.1", 421],
    ["", 400],
  ];
  test("only answers to hostnames that no page on the web can have (DNS rebinding)", async () => {
    const statuses = hosts.map(async ([host]) => {
      const client = await openClient(Number(new URL(adminUrl).port));
      client.send(`GET /metrics HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      const [response] = await client.responses(1);
      client.socket.destroy();
      return [host, response?.status];
    });
    expect(await Promise.all(statuses)).toEqual(hosts);
  });

  test("doesn't take a host from the request target", async () => {
    const client = await openClient(Number(new URL(adminUrl).port));
    client.send(toRequest("GET http://evil.example/metrics HTTP/1.1", []).replace(/Host: \S+/, "Host: localhost"));
    expect((await client.responses(1))[0]?.status).toBe(421);
    client.socket.destroy();
  });

  test("rejects other paths and methods with a problem document", async () => {
    const unknown = await fetch(`${adminUrl}/restapi/brands.json`);
    expect([unknown.status, unknown.headers.get("Content-Type")]).toEqual([404, "application/problem+json"]);
    expect(await unknown.json()).toMatchObject({ status: 404, instance: unknown.headers.get("X-Request-Id") });
    const post = await fetch(`${adminUrl}/metrics`, { method: "POST" });
    expect([post.status, post.headers.get("Allow")]).toEqual([405, "GET, HEAD"]);
  });
});

describe("address of the admin listener", () => {
  test("defaults to 127.0.0.1:8081; if that's in use, the server starts without an admin listener and says so", async () => {
    const blocker = blockDefault();
    const server = await workspace.serve([], { env: { STOREFRONT_ADMIN: "" } });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(server.stderr()).toMatch(
      /can't listen on 127\.0\.0\.1:8081: the port is already in use; choose another with --admin, .+ without the console/,
    );
    expect(server.stdout()).not.toContain("admin listener");
    blocker?.stop(true);
  });

  test.each([
    [[]],
    [["--workers", "2"]],
  ])("keeps the server from starting if it was set and is in use, %p", async (args) => {
    const blocker = Bun.listen({ hostname: "127.0.0.1", port: 0, exclusive: true, socket: { data() {} } });
    const admin = `127.0.0.1:${blocker.port}`;
    const { code, stdout, stderr } = await workspace.run(["serve", "--port", "0", "--admin", admin, ...args]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      `storefront: can't listen on ${admin}: the port is already in use; choose another with --admin, or none with \`--admin none\`\n`,
    );
    blocker.stop(true);
  });

  test.each([[[]], [["--workers", "2"]], [["--host", "0.0.0.0"]]])("can't be the public address: %j", async (args) => {
    const port = String(await freePort());
    const { code, stderr } = await workspace.run(["serve", "--port", port, "--admin", `127.0.0.1:${port}`, ...args]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("the port is already in use; choose another with --admin"),
    ]);
  });

  test.each([
    "8081",
    "localhost",
    "127.0.0.1:65536",
    "127.0.0.1:x",
    "::1:8081",
    "http://127.0.0.1:8081",
    ":8081",
  ])("can't be %s", async (admin) => {
    const { code, stderr } = await workspace.run(["serve", "--port", "0", "--admin", admin]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--admin (STOREFRONT_ADMIN) must be")]);
  });

  test("can be `none`", async () => {
    const server = await workspace.serve(["--workers", "2"], { env: { STOREFRONT_ADMIN: "none" } });
    expect(server.stdout()).not.toContain("admin");
    expect(childrenOf(server.pid)).toHaveLength(2);
  });

  test("gets a warning if other machines can reach it without TLS", async () => {
    const warning = /"host":"0\.0\.0\.0".*"the admin listener isn't encrypted/;
    const server = await workspace.serve(["--log", "warn", "--admin", "0.0.0.0:0"]);
    expect(server.stderr()).toMatch(warning);
    const local = await workspace.serve(["--log", "warn", "--admin", "127.0.0.2:0"]);
    expect(local.stderr()).toBe("");
  });
});

describe("metrics of several workers", () => {
  test("are summed over all workers, in every scrape", async () => {
    const server = await workspace.serve(["--workers", "3", ...anyPort]);
    for (let total = 20; total <= 60; total += 20) {
      await sendRequests(server, 20);
      // A busy machine can delay a worker longer than a scrape waits for it.
      const scrape = async () => {
        const text = await metricsOf(server);
        return text.includes("\nstorefront_workers 3\n") && text;
      };
      expect(requestsIn(await waitUntil(scrape, "a scrape of all workers"))).toBe(total);
    }
  });

  test("keep the counts of a worker that was stopped or killed", async () => {
    const server = await workspace.serve(["--workers", "2", ...anyPort]);
    await sendRequests(server, 20);
    await untilCounted(server, 20);
    process.kill(firstChild(server), "SIGKILL");
    await waitUntil(() => server.stderr().includes("restarting it"), "a new worker");
    expect(requestsIn(await metricsOf(server))).toBe(20);
    await sendRequests(server, 20);
    process.kill(firstChild(server), "SIGTERM");
    await waitUntil(() => server.stderr().split("restarting it").length === 3, "another new worker");
    await untilCounted(server, 40);
  });

  test("contain the last values of a worker that doesn't respond", async () => {
    const server = await workspace.serve(["--workers", "2", ...anyPort]);
    await sendRequests(server, 20);
    await untilCounted(server, 20);
    /** Returns the workers that respond, the workers expected, the restarts, and 1 if the server is ready. */
    const states = async () => {
      const text = await metricsOf(server);
      const names = ["workers", "workers_expected", "restarts_total", "ready"];
      return names.map((name) => Number(new RegExp(`^storefront_${name} (\\d+)$`, "m").exec(text)?.[1]));
    };
    // A worker that a busy machine delays for a second doesn't respond either.
    const until = (wanted: string) => waitUntil(async () => (await states()).join() === wanted, `the states ${wanted}`);
    const [first, second] = childrenOf(server.pid) as [number, number];
    await until("2,2,0,1");
    process.kill(first, "SIGSTOP");
    expect(requestsIn(await metricsOf(server))).toBe(20);
    await until("1,2,0,1");
    process.kill(second, "SIGSTOP");
    await until("0,2,0,0");
    for (const pid of [first, second]) process.kill(pid, "SIGCONT");
    expect(requestsIn(await metricsOf(server))).toBe(20);
    await until("2,2,0,1");
    process.kill(first, "SIGKILL");
    await until("2,2,1,1");
  });

  test("come from the admin process, which is replaced when it ends", async () => {
    const server = await workspace.serve(["--workers", "2", ...anyPort]);
    const [first, second, admin] = childrenOf(server.pid);
    expect([first, second, admin].includes(undefined)).toBe(false);
    process.kill(admin as number, "SIGKILL");
    await waitUntil(() => server.stderr().includes("the admin process exited"), "its message");
    await waitUntil(() => metricsOf(server).then(Boolean, () => false), "the metrics");
    await sendRequests(server, 5);
    expect(requestsIn(await metricsOf(server))).toBe(5);
  });
});

test("the console's requests and counts of keys cover all workers", async () => {
  await workspace.data.addSite("shop", { isDefault: true });
  const key = (await workspace.mustRun(["key", "create", "--site", "shop"])).trim();
  await workspace.mustRun(["operator", "add", "anna"]);
  const server = await workspace.serve(["--workers", "2", ...anyPort]);
  const origin = server.adminUrl ?? "";
  const link = (await workspace.mustRun(["operator", "link", "anna", "--url", origin])).trim().split("=")[1];
  const headers = { Origin: origin, "Content-Type": "application/json" };
  const session = await fetch(`${origin}/operator/session`, {
    method: "POST",
    headers,
    body: JSON.stringify({ link }),
  });
  const Cookie = session.headers.get("Set-Cookie")?.split(";", 1)[0] ?? "";
  const own = { Cookie, "X-Operator": String(((await session.json()) as { id: number }).id) };
  // biome-ignore lint/suspicious/noExplicitAny: the test reads any member
  const read = async (path: string): Promise<any> =>
    (await fetch(`${origin}/operator/sites/shop/${path}`, { headers: own })).json();
  // The operating system gives each connection to one of the workers.
  for (let id = 1; id <= 20; id++)
    await fetch(`${server.url}/restapi/brands/${id}.json`, { headers: { "X-API-AUTH": key, Connection: "close" } });
  const { requests, isComplete } = await read("requests");
  const paths = requests.map(({ path }: { path: string }) => path);
  expect(paths.sort()).toEqual(Array.from({ length: 20 }, (_, index) => `/restapi/brands/${index + 1}.json`).sort());
  const prefixes = new Set(requests.map(({ id }: { id: string }) => id.slice(0, 6)));
  expect([isComplete, prefixes.size]).toEqual([true, 2]);
  expect((await read("key-traffic")).keys).toMatchObject([{ requests: 20, errors: 20 }]);
  process.kill(firstChild(server), "SIGSTOP");
  expect((await read("requests")).isComplete).toBe(false);
  process.kill(firstChild(server), "SIGCONT");
});

/** Waits until the metrics count `count` requests. A slow worker's earlier values are shown at first. */
function untilCounted(server: Served, count: number) {
  return waitUntil(async () => requestsIn(await metricsOf(server)) === count, `${count} requests in the metrics`);
}

/** Returns the first worker. Process IDs ascend, and the admin process starts last. */
function firstChild({ pid }: Served): number {
  return childrenOf(pid)[0] as number;
}

/** Occupies 127.0.0.1:8081, unless another program already does. */
function blockDefault() {
  try {
    return Bun.listen({ hostname: "127.0.0.1", port: 8081, exclusive: true, socket: { data() {} } });
  } catch {
    return undefined;
  }
}
