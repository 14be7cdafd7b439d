// Requests of the worst client of the console's API.

import { beforeAll, describe, expect, jest, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { removeOperator } from "../../../../src/operator/operators/operators.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../../support/console/server.ts";
import { useConsole } from "../../../support/console/use-console.ts";
import { waitUntil } from "../../../support/time.ts";

let server: TestConsole;
let anna: ConsoleClient;
useConsole((started, operator) => {
  [server, anna] = [started, operator];
});

const brands = "/sites/shop/records/brands";

/** Sends a request with only the first byte of its body. */
function sendHalf(method: string, path: string, lines: string): Socket {
  const { hostname, port, host } = new URL(server.adminUrl);
  const socket = connect(Number(port), hostname);
  const header = `${method} /operator${path} HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${server.adminUrl}\r\n${lines}`;
  socket.write(`${header}\r\nContent-Type: application/json\r\n\r\n{`);
  return socket;
}

function responseOn(socket: Socket): Promise<string> {
  return new Promise((resolve) => socket.once("data", (data) => resolve(String(data))));
}

describe("a body", () => {
  const bodies: [string, string][] = [
    ["null", "null"],
    ["a number", "1"],
    ["a text", '"x"'],
    ["a list", "[]"],
    ["too many brackets", "[".repeat(500_000)],
    ["empty", ""],
  ];
  test.each(bodies)("that is %s is rejected, and creates no key", async (_, body) => {
    const keys = async () => (await anna.call("GET", "/sites/shop/keys")).json.keys.length;
    const before = await keys();
    for (const path of ["/sites/shop/keys", brands, "/sites", "/operators", "/sites/shop/undo", "/sites/shop/imports"])
      expect([path, (await anna.call("POST", path, body)).status]).toEqual([path, 400]);
    expect(await keys()).toBe(before);
  });

  test("that is nested too deeply is rejected", async () => {
    const deep = `${'{"Address":'.repeat(50_000)}1${"}".repeat(50_000)}`;
    for (const path of [brands, "/sites/shop/undo"])
      expect([path, (await anna.call("POST", path, deep)).status]).toEqual([path, 400]);
  });

  test("of a sign-in with more than a few hundred bytes is rejected before it arrives", async () => {
    const link = "x".repeat(600);
    expect((await anna.call("POST", "/session", { link })).status).toBe(413);
    const socket = sendHalf("POST", "/session", "Content-Length: 600");
    expect(await responseOn(socket)).toStartWith("HTTP/1.1 413 ");
    socket.destroy();
  });

  test("above 1 MiB is rejected", async () => {
    expect((await anna.call("POST", brands, JSON.stringify({ Name: "x".repeat(1024 * 1024) }))).status).toBe(413);
  });

  test.each([[[[1]]], [["1e0"]], [[1.5]], [[null]], [[true]]])("with the IDs %j deletes nothing", async (ids) => {
    expect((await anna.call("DELETE", brands, { ids })).status).toBe(400);
  });

  test("of a sign-in that does not arrive is 408 after a second", async () => {
    const socket = sendHalf("POST", "/session", "Content-Length: 400");
    const timer = setInterval(() => socket.write(" "), 20);
    const received = await responseOn(socket);
    clearInterval(timer);
    socket.destroy();
    expect(received).toStartWith("HTTP/1.1 408 ");
  });

  test("of a sign-in is one of at most sixteen incomplete bodies; one more ends the oldest of them", async () => {
    // The clock stands still, so that no body times out.
    jest.useFakeTimers();
    const half = () => sendHalf("POST", "/session", "Content-Length: 16");
    const sockets = Array.from({ length: 16 }, half);
    const responses = sockets.map(responseOn);
    await anna.call("GET", "/session");
    sockets.push(half());
    expect(await Promise.race(responses)).toStartWith("HTTP/1.1 408 ");
    jest.useRealTimers();
    for (const socket of sockets) socket.destroy();
  });

  test("that does not arrive is one of at most eight incomplete bodies of an operator, and other requests succeed", async () => {
    const own = `Cookie: ${anna.cookie}\r\nX-Operator: ${anna.id}`;
    const half = () => sendHalf("POST", brands, `Content-Length: 16\r\n${own}`);
    const sockets = Array.from({ length: 9 }, half);
    const received = await Promise.race(sockets.map(responseOn));
    expect(received).toStartWith("HTTP/1.1 429 ");
    expect(received).toContain("you're already sending 8 requests");
    expect((await anna.call("POST", brands, { Name: "Whole" })).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    for (let response = ""; !response.startsWith("HTTP/1.1 200 "); ) {
      const socket = half();
      const responded = responseOn(socket);
      await anna.call("GET", "/session");
      socket.write('"Name":"Other"}');
      response = await responded;
      socket.destroy();
    }
  });
});

describe("a search", () => {
  const searches: [string, string, readonly string[]][] = [
    ["a wildcard of SQL", "%", ["100% Wool"]],
    ["another wildcard of SQL", "_", ["under_score"]],
    ["a regular expression", "(a+)+$", []],
    ["one character for a letter with an accent", "caf\u00e9", ["Cafe\u0301 two", "Caf\u00e9 one"]],
    ["two characters for a letter with an accent", "cafe\u0301", ["Cafe\u0301 two", "Caf\u00e9 one"]],
    ["another case", "UNDER", ["under_score"]],
    ["NUL", "\0", []],
    ["a long text", "x".repeat(255), []],
    ["many words", "a ".repeat(127), ["Cafe\u0301 two", "Caf\u00e9 one"]],
  ];
  beforeAll(async () => {
    for (const Name of ["100% Wool", "under_score", "Caf\u00e9 one", "Cafe\u0301 two"])
      await anna.call("POST", brands, { Name });
  });
  test.each(searches)("for %s finds the records with this text", async (_, text, found) => {
    const { status, json } = await anna.call("GET", `${brands}?search=${encodeURIComponent(text)}&sort=Name`);
    expect(status).toBe(200);
    expect(json.records.map(({ record }: { record: { Name: string } }) => record.Name).sort()).toEqual(
      [...found].sort(),
    );
  });

  test("of more than 255 characters is rejected", async () => {
    expect((await anna.call("GET", `${brands}?search=${"x".repeat(255)}`)).status).toBe(200);
    expect((await anna.call("GET", `${brands}?search=${"x".repeat(256)}`)).status).toBe(400);
    expect((await anna.call("GET", `${brands}?search=${"x".repeat(20_000)}`)).status).toBe(431);
  });
});

test.each([
  ["text/plain", 415],
  ["application/x-www-form-urlencoded", 415],
  ["multipart/form-data; boundary=x", 415],
  ["application/octet-stream", 415],
  ["", 415],
])("a form of the type %j is rejected, also from a page of the console's own origin", async (type, status) => {
  const send = (origin: string) =>
    fetch(`${server.adminUrl}/operator${brands}`, {
      method: "POST",
      headers: { Cookie: anna.cookie, "X-Operator": String(anna.id), Origin: origin, "Content-Type": type },
      body: '{"Name":"forged"}',
    });
  expect((await send(server.adminUrl)).status).toBe(status);
  for (const origin of ["http://evil.example", "null", server.adminUrl.replace("127.0.0.1", "localhost")])
    expect([origin, (await send(origin)).status]).toEqual([origin, 403]);
});

test("a session of another server is not valid", async () => {
  const other = await startTestConsole();
  try {
    const { cookie } = await other.signIn("anna");
    const as = async (sent: string) =>
      (await fetch(`${server.adminUrl}/operator/sites`, { headers: { Cookie: sent } })).status;
    const { port } = new URL(server.adminUrl);
    expect([await as(cookie), await as(cookie.replace(/^[^=]+/, `storefront_${port}`))]).toEqual([401, 401]);
  } finally {
    await other.stop();
  }
});

describe("two pages that import the same file", () => {
  const bytes = new Uint8Array(
    Buffer.from(`Name\n${Array.from({ length: 20_000 }, (_, n) => `Same ${n}\n`).join("")}`),
  );
  async function checked(client: ConsoleClient): Promise<string> {
    const { json } = await client.call("POST", "/sites/shop/imports", { resource: "brands", name: "same.csv" });
    const path = `/sites/shop/imports/${json.id}`;
    await client.call("PUT", `${path}/parts/0`, bytes, { "Content-Type": "application/octet-stream" });
    await client.call("POST", `${path}/check`, { format: "csv", match: "Name" });
    await ended(client, path);
    return path;
  }
  function ended(client: ConsoleClient, path: string) {
    return waitUntil(async () => {
      const { json } = await client.call("GET", path);
      return !["checking", "running"].includes(json.state) && json;
    }, "the end of the import");
  }

  test("store its rows once", async () => {
    await removeOperator(server.engine, "ben", 1).catch(() => {});
    const ben = await server.signIn("ben");
    const [first, second] = [await checked(anna), await checked(ben)];
    expect((await anna.call("POST", `${first}/run`, {})).status).toBe(200);
    const early = await ben.call("POST", `${second}/run`, {});
    expect([early.status, early.json.detail]).toEqual([409, expect.stringContaining("another import into this site")]);
    expect((await ended(anna, first)).counts.created).toBe(20_000);
    expect((await ben.call("POST", `${second}/run`, {})).status).toBe(200);
    expect((await ended(ben, second)).counts).toMatchObject({ created: 0, unchanged: 20_000 });
  });
});

test("many searches in all sites and exports at once yield to other requests", async () => {
  const many = Array.from({ length: 60 }, (_, n) =>
    anna.call("GET", n % 2 ? "/find?text=Nothing" : `${brands}/export?format=csv`),
  );
  expect((await anna.call("GET", "/session")).status).toBe(200);
  expect((await Promise.all(many)).every(({ status }) => status === 200)).toBe(true);
});
