// A delivery attempt to receivers that behave in all kinds of ways.

import { afterEach, describe, expect, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { AddressPolicy } from "../../../src/webhooks/address-policy.ts";
import { type DeliveryResponse, send } from "../../../src/webhooks/send.ts";
import { makeAuthority } from "../../support/http/certificate.ts";
import { waitUntil } from "../../support/time.ts";

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

const authority = makeAuthority();
const policy: AddressPolicy = { allow: [], isLoopbackAllowed: true, lookup: async () => ["127.0.0.1"] };
const never = new AbortController().signal;

/** The data that a receiver got over a connection. */
interface Seen {
  request: string;
  readonly servername: unknown;
  isClosed: boolean;
}

async function listen(server: Server): Promise<number> {
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as { port: number }).port;
}

/** A receiver that calls `respond` when it has a whole header section. */
async function receiver(respond: (socket: Socket) => void): Promise<{ port: number; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((socket) => onConnection(socket, seen, respond));
  return { port: await listen(server), seen };
}

function onConnection(socket: Socket, seen: Seen[], respond: (socket: Socket) => void): void {
  const entry: Seen = { request: "", servername: (socket as TLSSocket).servername, isClosed: false };
  seen.push(entry);
  let isStarted = false;
  socket.on("error", () => {});
  socket.on("close", () => {
    entry.isClosed = true;
  });
  socket.on("data", (chunk) => {
    entry.request += chunk;
    if (isStarted || !entry.request.includes("\r\n\r\n")) return;
    isStarted = true;
    respond(socket);
  });
}

function tlsReceiver(names: readonly string[], options: { addresses?: number[][]; now?: number } = {}) {
  const seen: Seen[] = [];
  const { cert, key } = authority.issue(names, options.addresses, options.now);
  const server = createTlsServer({ cert, key }, (socket) => onConnection(socket, seen, ok)) as unknown as Server;
  return listen(server).then((port) => ({ port, seen }));
}

const ok = (socket: Socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
/** In milliseconds. A busy machine may need some time, so only tests about the time set less. */
const usualTimeoutMs = 20_000;

const deliver = (
  url: string,
  options: Partial<Parameters<typeof send>[1]> = {},
  signal = never,
): Promise<DeliveryResponse> =>
  send(
    { url, headers: { "webhook-id": "evt_1" }, body: Buffer.from('{"ä":1}') },
    { ...policy, timeout: usualTimeoutMs, ...options },
    signal,
  );

function begun(socket: Socket, text: string): Socket {
  socket.write(text);
  return socket;
}

/** Writes `text` repeatedly, until the connection is closed. */
function endless(socket: Socket, text: string, interval = 1): void {
  const timer = setInterval(() => socket.write(text), interval);
  socket.on("close", () => clearInterval(timer));
}

describe("a receiver that", () => {
  test.each<[string, (socket: Socket) => void, Partial<DeliveryResponse>, timeout?: number]>([
    ["responds with 200", ok, { status: 200, fault: null }],
    ["responds with 204", (s) => s.end("HTTP/1.1 204 No Content\r\n\r\n"), { status: 204, fault: null }],
    ["speaks HTTP/1.0", (s) => s.end("HTTP/1.0 200 OK\r\n\r\n"), { status: 200, fault: null }],
    [
      "sends interim responses",
      (s) => s.end("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n"),
      { status: 202, fault: null },
    ],
    [
      "sends a body without end",
      (s) => endless(begun(s, "HTTP/1.1 200 OK\r\n\r\n"), "x".repeat(10_000)),
      { status: 200 },
    ],
    ["stops in the body", (s) => void s.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), { status: 200 }, 500],
    ["breaks off in the body", (s) => s.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), { status: 200 }],
    ["sends a broken gzip body", (s) => s.end("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nx"), { status: 200 }],
    [
      "responds with 500",
      (s) => s.end("HTTP/1.1 500 X\r\n\r\n"),
      { status: 500, fault: "the receiver responded with 500" },
    ],
    [
      "asks for a pause",
      (s) => s.end("HTTP/1.1 503 X\r\nRetry-After: 120\r\n\r\n"),
      { status: 503, retryAfter: "120", fault: "the receiver responded with 503" },
    ],
    [
      "redirects",
      (s) => s.end("HTTP/1.1 307 X\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"),
      { status: 307, fault: "the receiver responded with 307; redirects are not followed" },
    ],
    [
      "switches protocols",
      (s) => void s.write("HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
      { status: 101 },
    ],
    [
      "responds with 000",
      (s) => s.end("HTTP/1.1 000 X\r\n\r\n"),
      { status: 0, fault: "the receiver responded with 0" },
    ],
    ["closes", (s) => s.destroy(), { status: null, fault: "the connection was closed without a response" }],
    ["resets", (s) => s.resetAndDestroy(), { status: null, fault: "the connection was closed without a response" }],
    [
      "breaks off in the header section",
      (s) => s.end("HTTP/1.1 200 OK\r\nX"),
      { status: null, fault: "the connection was closed without a response" },
    ],
    [
      "sends garbage",
      (s) => s.end("\u0000\u0001<script>\r\n\r\n"),
      { status: null, fault: expect.stringMatching(/^the response isn't valid HTTP \(HPE_\w+\)$/) },
    ],
    [
      "sends two lengths",
      (s) => s.end("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
      { status: null, fault: expect.stringMatching(/^the response isn't valid HTTP/) },
    ],
    [
      "sends header fields without end",
      (s) => endless(begun(s, "HTTP/1.1 200 OK\r\n"), `X-A: ${"a".repeat(1000)}\r\n`.repeat(100)),
      { status: null, fault: "the response headers are larger than 16384 bytes" },
    ],
    [
      "sends one header field without end",
      (s) => endless(begun(s, "HTTP/1.1 200 OK\r\nX: "), "a".repeat(10_000)),
      { status: null, fault: "the response headers are larger than 16384 bytes" },
    ],
    ["sends nothing", () => {}, { status: null, fault: "no response within 0.5 seconds" }, 500],
    [
      "sends header fields slowly",
      (s) => endless(begun(s, "HTTP/1.1 200 OK\r\n"), "X: 1\r\n", 50),
      { status: null, fault: "no response within 0.5 seconds" },
      500,
    ],
    [
      "sends interim responses without end",
      (s) => endless(s, "HTTP/1.1 100 Continue\r\n\r\n", 5),
      { status: null, fault: "no response within 0.5 seconds" },
      500,
    ],
  ])("%s", async (_, respond, expected, timeout = usualTimeoutMs) => {
    const attempt = async () => {
      const { port, seen } = await receiver(respond);
      return { received: await deliver(`http://127.0.0.1:${port}/hooks?a=b`, { timeout }), seen };
    };
    let { received, seen } = await attempt();
    // A busy machine may need a short time limit to connect: then the request was not sent.
    while (timeout < usualTimeoutMs && !seen[0]?.request) ({ received, seen } = await attempt());
    expect(received).toMatchObject(expected);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.request).toStartWith(`POST /hooks?a=b HTTP/1.1\r\n`);
    await waitUntil(() => seen[0]?.isClosed, "the end of the connection");
  });

  test("reads nothing gets no more than an attempt's time", async () => {
    const server = createServer((socket) => void socket.on("error", () => {}).pause());
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const body = Buffer.alloc(20_000_000);
    const received = await send({ url, headers: {}, body }, { ...policy, timeout: 500 }, never);
    expect(received.fault).toBe("no response within 0.5 seconds");
  });

  test("isn't listening is reported as such", async () => {
    const server = createServer();
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    expect((await deliver(`http://127.0.0.1:${port}/`)).fault).toBe("the connection was refused");
  });
});

describe("an attempt", () => {
  test("sends the headers, the length in bytes, and the host with its port", async () => {
    const { port, seen } = await receiver(ok);
    await deliver(`http://localhost:${port}/`);
    const lines = seen[0]?.request.toLowerCase().split("\r\n") ?? [];
    expect(lines).toContain(`host: localhost:${port}`);
    expect(lines).toContain("content-length: 8");
    expect(lines).toContain("webhook-id: evt_1");
    expect(lines).toContain("connection: close");
  });

  test("ends right away if interrupted, even while resolving the name", async () => {
    let begun = Promise.withResolvers<void>();
    const { port } = await receiver(() => begun.resolve());
    const lookup = () => {
      begun.resolve();
      return new Promise<never>(() => {});
    };
    for (const options of [{}, { lookup }]) {
      begun = Promise.withResolvers();
      const interrupt = new AbortController();
      const sent = deliver(`http://localhost:${port}/`, { ...options, timeout: 60_000 }, interrupt.signal);
      await begun.promise;
      interrupt.abort();
      expect((await sent).fault).toBe("the attempt was interrupted");
    }
    expect((await deliver("http://localhost:1/", {}, AbortSignal.abort())).fault).toBe("the attempt was interrupted");
  });

  test("counts the time to resolve the name", async () => {
    const { fault } = await deliver("https://hooks.example/", {
      lookup: () => new Promise<never>(() => {}),
      timeout: 500,
    });
    expect(fault).toBe("no response within 0.5 seconds");
  });

  test("counts the TLS handshake's time", async () => {
    const port = await listen(createServer((socket) => void socket.on("error", () => {})));
    expect((await deliver(`https://localhost:${port}/`, { timeout: 500 })).fault).toBe(
      "no response within 0.5 seconds",
    );
  });

  test("resolves the name once, and uses no later address", async () => {
    const { port, seen } = await receiver(ok);
    let lookups = 0;
    // The name resolves to this machine first, and then to another.
    const lookup = async () => (lookups++ === 0 ? ["127.0.0.1"] : ["10.0.0.1"]);
    expect((await deliver(`http://localhost:${port}/`, { lookup })).status).toBe(200);
    expect([lookups, seen.length]).toEqual([1, 1]);
  });

  test("is rejected before anything is sent if the name's address has become a forbidden one", async () => {
    const { port, seen } = await receiver(ok);
    const { status, fault } = await deliver(`https://hooks.example:${port}/`);
    expect([status, fault]).toEqual([null, expect.stringContaining("127.0.0.1, which is the server's own machine")]);
    expect(seen).toEqual([]);
  });

  test("uses the next address if nothing is listening at the first", async () => {
    const { port } = await receiver(ok);
    const lookup = async () => ["127.0.0.2", "127.0.0.1"];
    expect((await deliver(`http://localhost:${port}/`, { lookup })).status).toBe(200);
  });
});

describe("over TLS", () => {
  test("the receiver gets the name, which its certificate must match", async () => {
    const { port, seen } = await tlsReceiver(["localhost"]);
    expect(await deliver(`https://localhost:${port}/`, { ca: authority.cert })).toMatchObject({ status: 200 });
    expect(seen[0]?.servername).toBe("localhost");
    expect(seen[0]?.request.toLowerCase()).toContain(`host: localhost:${port}`);
  });

  test("an address in the URL must match the certificate", async () => {
    const { port } = await tlsReceiver([], { addresses: [[127, 0, 0, 1]] });
    expect(await deliver(`https://127.0.0.1:${port}/`, { ca: authority.cert })).toMatchObject({ status: 200 });
    expect((await deliver(`https://127.0.0.2:${port}/`, { ca: authority.cert })).status).toBeNull();
  });

  test.each([
    ["for another name", ["hooks.example"], {}, authority.cert, "the certificate is for another hostname"],
    [
      "for an address in place of the name",
      [],
      { addresses: [[127, 0, 0, 1]] },
      authority.cert,
      "the certificate is for another hostname",
    ],
    [
      "that has expired",
      ["localhost"],
      { now: Date.now() - 10 * 86_400_000 },
      authority.cert,
      "the certificate has expired",
    ],
    [
      "of another authority",
      ["localhost"],
      {},
      makeAuthority().cert,
      expect.stringContaining("the certificate isn't trusted"),
    ],
    [
      "of an authority that the machine does not know",
      ["localhost"],
      {},
      undefined,
      expect.stringContaining("the certificate isn't trusted"),
    ],
  ])("a certificate %s is rejected before anything is sent", async (_, names, options, ca, fault) => {
    const { port, seen } = await tlsReceiver(names, options);
    const received = await deliver(`https://localhost:${port}/`, ca === undefined ? {} : { ca });
    expect(received).toEqual({ status: null, retryAfter: undefined, fault });
    expect(seen.map(({ request }) => request).join("")).toBe("");
  });
});
