// Log lines about requests: one per request with --access-log, otherwise slow requests and rejected keys.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { fetchWithKey, openWorkspace, quote, type Served, type Workspace } from "../../support/programs/command.ts";
import { letPass, waitUntil } from "../../support/time.ts";
import { openClient, toRequest } from "../../support/wire/client.ts";

let workspace: Workspace;
let key: string;
beforeEach(async () => {
  workspace = openWorkspace();
  await workspace.data.addSite("garden", { isDefault: true });
  key = await workspace.data.addKey("garden");
});
afterEach(() => workspace.close());

/** Returns all log lines, or those with these messages. Call it once the server has ended, because the server logs in the background. */
function logged(server: Served, ...messages: string[]) {
  const lines = server.stderr().split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line)).filter(({ msg }) => messages.length === 0 || messages.includes(msg));
}

async function end(server: Served): Promise<void> {
  server.kill();
  expect(await server.exited).toBe(0);
}

/** On a busy machine, any request can be slow, and its line then says so. */
const noneSlow = ["--slow-ms", "0"] as const;

describe("--access-log", () => {
  test("has a line per request, whatever the log level", async () => {
    const server = await workspace.serve(["--access-log", ...noneSlow]);
    const created = await fetchWithKey(`${server.url}/restapi/brands.json?_=secret`, key, {
      method: "POST",
      body: '{"Name":"a"}',
    });
    const head = await fetchWithKey(`${server.url}/restapi/brands/1.xml`, key, { method: "HEAD" });
    await fetchWithKey(`${server.url}/restapi/brands/2.xml`, key);
    const body = await created.text();
    await end(server);
    const lines = logged(server, "request");
    expect(lines).toHaveLength(3);
    const [first, second, third] = lines;
    expect(first).toEqual({
      level: 30,
      time: expect.any(Number),
      pid: server.pid,
      request: created.headers.get("X-Request-Id"),
      site: "garden",
      key: key.slice(0, 12),
      client: "127.0.0.1",
      method: "POST",
      path: "/restapi/brands.json",
      status: 201,
      bytes: body.length,
      ms: expect.any(Number),
      msg: "request",
    });
    expect(Math.abs(Date.now() - first.time)).toBeLessThan(60_000);
    expect(second).toMatchObject({ request: head.headers.get("X-Request-Id"), method: "HEAD", status: 200, bytes: 0 });
    expect(third).toMatchObject({ method: "GET", path: "/restapi/brands/2.xml", status: 404 });
    for (const secret of [key, "x=secret"]) expect(server.stderr()).not.toContain(secret);
  });

  test("has a batch's or undo's number of operations and run", async () => {
    const server = await workspace.serve(["--access-log", ...noneSlow]);
    const post = async (path: string, body: object): Promise<{ Run: string }> => {
      const response = await fetchWithKey(`${server.url}/restapi/${path}`, key, {
        method: "POST",
        body: JSON.stringify(body),
      });
      return (await response.json()) as { Run: string };
    };
    const Operations = ["a", "b"].map((Name) => ({ Method: "POST", Resource: "brands", Record: { Name } }));
    await post("batch.json?dryRun=1", { Operations });
    const { Run } = await post("batch.json", { Operations });
    const undone = await post("undo.json", { Run });
    await end(server);
    const lines = logged(server, "request").map(({ path, operations, run }) => [path, operations, run]);
    expect(lines).toEqual([
      ["/restapi/batch.json", 2, undefined],
      ["/restapi/batch.json", 2, Run],
      ["/restapi/undo.json", 2, undone.Run],
    ]);
  });

  test("has the sandbox's name for requests with its key, but never the key", async () => {
    const sandboxKey = await workspace.data.use(async (engine) => {
      const { site } = await makeSandbox(engine, "garden", { now: Date.now });
      return (await createKey(engine, site, {}, Date.now())).key;
    });
    const server = await workspace.serve(["--access-log", ...noneSlow]);
    for (const path of ["brands.json", "nothing.json", `${sandboxKey}.json`])
      await fetchWithKey(`${server.url}/restapi/${path}`, sandboxKey);
    await end(server);
    const key = sandboxKey.slice(0, 17);
    const line = { site: "garden", sandbox: "garden-sandbox", key };
    expect(logged(server, "request")).toMatchObject([
      { ...line, status: 200 },
      { ...line, status: 404 },
      { ...line, path: `/restapi/${key}....json` },
    ]);
    expect(server.stderr()).not.toContain(sandboxKey.slice(0, 18));
  });

  test("is off by default", async () => {
    const server = await workspace.serve(["--log", "info", ...noneSlow]);
    await fetchWithKey(`${server.url}/restapi/brands.json`, key);
    await end(server);
    expect(server.stderr()).toBe("");
  });

  test("has the client's address from the proxy if that's trusted", async () => {
    for (const [args, client] of [
      [["--trust-proxy"], "2001:db8::7"],
      [[], "127.0.0.1"],
    ] as const) {
      const server = await workspace.serve(["--access-log", ...noneSlow, ...args]);
      await fetchWithKey(`${server.url}/healthz`, key, { headers: { "X-Forwarded-For": "1.2.3.4, [2001:db8::7]:99" } });
      await fetchWithKey(`${server.url}/healthz`, key, { headers: { "X-Forwarded-For": 'evil\u00e9","status":"200' } });
      await end(server);
      expect(logged(server).map((line) => line.client)).toEqual([client, "127.0.0.1"]);
    }
  });

  test("has a line with the client's address for a request that can't be parsed", async () => {
    const server = await workspace.serve(["--access-log", ...noneSlow]);
    const client = await openClient(Number(new URL(server.url).port));
    client.send("nonsense\r\n\r\n");
    await client.ended();
    client.socket.destroy();
    await end(server);
    expect(logged(server, "request")).toMatchObject([{ client: "127.0.0.1", method: "", path: "", status: 400 }]);
  });

  test("has the address of a client that disconnected before the response", async () => {
    const server = await workspace.serve(["--access-log", ...noneSlow]);
    const client = await openClient(Number(new URL(server.url).port));
    const lines = ["POST /restapi/brands.json HTTP/1.1", "Host: x", `X-API-AUTH: ${key}`, "Content-Length: 99"];
    client.send(`${lines.join("\r\n")}\r\n\r\n{`);
    await waitUntil(async () => (await fetch(`${server.url}/healthz`)).ok, "the server to have the request");
    client.socket.resetAndDestroy();
    await waitUntil(() => logged(server, "request").some(({ method }) => method === "POST"), "the line", {
      output: server.stderr,
    });
    await end(server);
    const [line] = logged(server, "request").filter(({ method }) => method === "POST");
    expect(line).toMatchObject({ client: "127.0.0.1", status: 400 });
  });

  test("can't be forged with line breaks or terminal escapes in a name", async () => {
    const server = await workspace.serve(["--access-log", ...noneSlow, "--log", "info"]);
    const targets = [
      "/restapi/a%0A%7B%22forged%22:1%7D.json",
      '/"},"msg":"forged',
      "/\x9b31m\x85forged",
      `/${"\x85".repeat(3000)}`,
      `/${Buffer.from("\u202e\u2028\u{1f600}").toString("latin1")}\\..\\x`,
      `/${"x".repeat(8000)}`,
    ];
    const headers = "Host: x\r\nX-Request-Id: a\x9b31m\r\nX-API-AUTH: sfk_\x9b31m\r\ntraceparent: \x9b31m\r\n";
    const lines = [...targets.map((target) => `GET ${target}`), `M${"~".repeat(9000)} /`, "GET\x1b[31m /"];
    // A request that can't be read ends its connection.
    for (const line of lines) {
      const client = await openClient(Number(new URL(server.url).port));
      client.send(`${line} HTTP/1.1\r\n${headers}\r\n`);
      await client.responses(1);
      client.socket.destroy();
    }
    await end(server);
    expect(server.stderr()).toMatch(/^[\n -~]*$/);
    const logs = logged(server, "request", "key refused");
    expect(logs).toHaveLength(lines.length);
    for (const line of logs) expect(JSON.stringify(line).length).toBeLessThan(2000);
    for (const line of server.stderr().split("\n")) expect(line.length).toBeLessThan(4096);
  });

  test("has whole lines even from several workers", async () => {
    const server = await workspace.serve(["--access-log", ...noneSlow, "--workers", "2"]);
    const path = `/restapi/${"x".repeat(300)}.json`;
    const count = 400;
    const requests = Array.from({ length: count }, () =>
      fetchWithKey(server.url + path, key, { headers: { Connection: "close" } }),
    );
    for (const response of await Promise.all(requests)) expect(response.status).toBe(404);
    await end(server);
    const lines = logged(server, "request");
    expect(lines).toHaveLength(count);
    expect(new Set(lines.map(({ request }) => request)).size).toBe(count);
  });

  test("loses lines rather than delay requests if nobody reads them", async () => {
    const wrap = (command: string) => `exec bash -c ${quote(`${command} 2> >(exec sleep 60 > /dev/null 2>&1)`)}`;
    const server = await workspace.serve(["--access-log"], { wrap });
    const path = `/restapi/${"x".repeat(400)}.json`;
    for (let round = 0; round < 30; round++) {
      const requests = Array.from({ length: 100 }, () => fetch(server.url + path));
      for (const response of await Promise.all(requests)) expect(response.status).toBe(404);
    }
    expect((await fetchWithKey(`${server.url}/restapi/brands.json`, key)).status).toBe(200);
    process.kill(server.pid, "SIGTERM");
    await waitUntil(() => !isAlive(server.pid), "its end");
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("without --access-log", () => {
  test("rejected keys are logged with the reason and the part of the key that may be shown", async () => {
    await workspace.data.addSite("other", { hostnames: ["other.example"] });
    const create = async (...args: string[]) => (await workspace.mustRun(["key", "create", ...args])).trim();
    const foreign = await create("--site", "other");
    const revoked = await create("--site", "garden");
    await workspace.mustRun(["key", "revoke", revoked]);
    const reader = await create("--site", "garden", "--scope", "read");
    const limited = await create("--site", "garden", "--rate", "1");
    const unknown = key.slice(0, 12).replace(/.$/, (last) => (last === "a" ? "b" : "a"));
    const server = await workspace.serve(["--log", "info"]);
    const url = `${server.url}/restapi/brands.json`;
    const cases: [sent: string | undefined, method: string, status: number, reason: string, shown?: string][] = [
      [undefined, "GET", 401, "missing"],
      ["Bearer hunter2", "GET", 401, "malformed"],
      [unknown + key.slice(12), "GET", 401, "malformed"],
      [revoked, "GET", 401, "expired or revoked", revoked.slice(0, 12)],
      [foreign, "GET", 403, "of another site", foreign.slice(0, 12)],
      [reader, "POST", 403, "without the right", reader.slice(0, 12)],
    ];
    const begun = performance.now();
    for (const [sent, method, status] of cases) {
      const body = method === "POST" ? { body: '{"Name":"a"}' } : {};
      const response = await fetch(url, { method, ...body, headers: sent === undefined ? {} : { "X-API-AUTH": sent } });
      expect(response.status).toBe(status);
    }
    const isSameSecond = performance.now() - begun < 1000;
    while ((await fetchWithKey(url, limited)).status !== 429);
    await end(server);
    const lines = logged(server, "key refused");
    // At most one line per second and reason. The two malformed keys share a reason.
    if (!isSameSecond && lines[2]?.refused === "malformed") lines.splice(2, 1);
    const expected = cases.filter((_, index) => index !== 2);
    expect(lines.slice(0, -1).map((line) => [line.method, line.status, line.refused, line.key])).toEqual(
      expected.map(([, method, status, reason, shown]) => [method, status, reason, shown]),
    );
    expect(lines.at(-1)).toMatchObject({ refused: "over its rate", status: 429, key: limited.slice(0, 12) });
    for (const secret of ["hunter2", revoked, foreign, reader, limited, key]) {
      expect(server.stderr()).not.toContain(secret);
    }
  });

  test("slow requests are logged, at most one per second and route", async () => {
    const slowMs = 1;
    const server = await workspace.serve(["--log", "info", "--slow-ms", `${slowMs}`]);
    const client = await openClient(Number(new URL(server.url).port));
    const lines = [`X-API-AUTH: ${key}`, "Content-Length: 12", "Expect: 100-continue"];
    client.send(toRequest("POST /restapi/brands.json HTTP/1.1", lines));
    await client.until((received) => received.includes("100 Continue"));
    await letPass(slowMs);
    client.send('{"Name":"a"}');
    await client.responses(2);
    client.socket.destroy();
    await end(server);
    expect(logged(server, "slow request")).toMatchObject([
      { site: "garden", key: key.slice(0, 12), method: "POST", path: "/restapi/brands.json", status: 201 },
    ]);
  });

  test("no request counts as slow with --slow-ms 0", async () => {
    const server = await workspace.serve(["--log", "info", "--slow-ms", "0"]);
    await fetchWithKey(`${server.url}/restapi/brands.json`, key, { method: "POST", body: '{"Name":"a"}' });
    await end(server);
    expect(logged(server, "slow request")).toEqual([]);
  });
});
