// Timeouts for clients that send or read nothing, or too slowly. Tests control the listener's clock.

import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import type { Listener } from "../../src/wire/listen.ts";
import type { WireRequest } from "../../src/wire/request.ts";
import type { WireResponse } from "../../src/wire/response.ts";
import { makeCertificate } from "../support/http/certificate.ts";
import { block } from "../support/time.ts";
import { limitReceiving, openClient, receiveBufferBytes, toRequest, type WireClient } from "../support/wire/client.ts";
import { advanceClockAfterArrival, waitForArrival } from "../support/wire/clock.ts";
import { echo, startListener, text } from "../support/wire/listener.ts";

const idleTimeoutSeconds = 10;
const large = "l".repeat(12 * 2 ** 20);
/** More than the kernel buffers of both sides. */
const huge = Buffer.alloc(64 * 2 ** 20);
let listener: Listener;
let releases: (() => void)[] = [];

/**
 * The handler of `/later` waits until a function in `releases` is called, and then reads its body, which may have 2 MiB. The body of `/soon` must arrive
 * in 20 s.
 */
function respond(request: WireRequest): WireResponse | Promise<WireResponse> {
  if (request.target === "/large") return text(large);
  if (request.target === "/huge") return { status: 200, headers: [], body: huge };
  if (request.target === "/soon") return echo(request, undefined, 20);
  if (request.target !== "/later") return echo(request);
  return new Promise<void>((resolve) => releases.push(resolve)).then(() => echo(request, 2 * 2 ** 20));
}

beforeEach(() => {
  jest.useFakeTimers();
  listener = startListener(respond, { idleTimeoutSeconds });
});
afterEach(async () => {
  jest.useRealTimers();
  await listener.stop(0);
  releases = [];
});

const arrive = () => waitForArrival(listener.port);
const advanceClock = (seconds: number) => advanceClockAfterArrival(listener.port, seconds);

/** Returns the number of open descriptors of this process, without descriptors that are being closed. */
async function descriptors(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tick = 0; tick < 100; tick++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    least = Math.min(least, readdirSync("/proc/self/fd").length);
  }
  return least;
}

/** The bytes that a slow client reads at once: so much of its buffer that its kernel asks the server for more. */
const partBytes = receiveBufferBytes;

/** Lets a client read only as many bytes as the result of this function allows, and at first a few. */
function limitReading(client: WireClient): (bytes: number) => void {
  const { socket } = client;
  limitReceiving(client);
  let left = 0;
  socket.on("data", (part: Buffer) => {
    left -= part.length;
    if (left <= 0) socket.pause();
  });
  return (bytes) => {
    left = bytes;
    socket.resume();
  };
}

async function readPart(client: WireClient, allow: (bytes: number) => void): Promise<void> {
  const wanted = client.received.length + partBytes;
  allow(partBytes);
  while (client.received.length < wanted && isOpen(client)) await arrive();
  // The kernel acknowledges the next bytes up to 40 ms later, which the fake clock does not count. Then the server writes again.
  block(40);
  await arrive();
  block(40);
}

const isOpen = ({ socket }: WireClient) => !socket.readableEnded && !socket.destroyed;

describe("a client times out", () => {
  test.each([
    ["sends nothing", "", /^$/],
    ["stops in its header section", "GET / HTTP/1.1\r\nHost:", /^HTTP.*timeout$/s],
    ["sends only an empty line", "\r\n", /^$/],
    ["sends half an empty line", "\r", /^$/],
    ["sends several empty lines", "\r\n\r\n", /^HTTP.*timeout$/s],
    [
      "sends an empty line after its body",
      `${toRequest("POST / HTTP/1.1", ["Content-Length: 3"], "abc")}\r\n`,
      /POST \/ abc$/,
    ],
    ["stops in its body", toRequest("POST / HTTP/1.1", ["Content-Length: 9"], "abc"), /^HTTP.*timeout$/s],
    ["stops in a chunk", toRequest("POST / HTTP/1.1", ["Transfer-Encoding: chunked"], "9\r\nabc"), /^HTTP.*timeout$/s],
    ["sends no second request", toRequest("GET / HTTP/1.1"), /^HTTP.*GET \/ $/s],
    [
      "got 100 for its body and sends no body",
      toRequest("POST / HTTP/1.1", ["Content-Length: 9", "Expect: 100-continue"]),
      /100 Continue.*timeout$/s,
    ],
  ])("that %s", async (_, bytes, last) => {
    const client = await openClient(listener.port);
    if (bytes !== "") client.send(bytes);
    await advanceClock(idleTimeoutSeconds - 1);
    expect(isOpen(client)).toBe(true);
    await advanceClock(3);
    expect(isOpen(client)).toBe(false);
    expect(client.received).toMatch(last);
    client.socket.destroy();
  });

  test("that sends endless headers byte by byte", async () => {
    const client = await openClient(listener.port);
    client.send("GET / HTTP/1.1\r\nHost: x\r\nX: ");
    for (let second = 0; second < idleTimeoutSeconds + 2; second++) {
      client.send("a");
      await advanceClock(1);
    }
    expect(isOpen(client)).toBe(false);
    client.socket.destroy();
  });

  test.each([
    ["at less than 256 bytes per second, after a minute", "/", 250, 60],
    ["at more than 256 bytes per second, but only after 30 timeouts", "/", 300, 30 * idleTimeoutSeconds],
    ["at more than 256 bytes per second, after the time that the handler allows", "/soon", 300, 20],
  ])("that sends an endless body %s", async (_, target, rate, end) => {
    const client = await openClient(listener.port);
    client.send(toRequest(`POST ${target} HTTP/1.1`, ["Content-Length: 999999"]));
    const trickle = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        client.send("a".repeat(rate));
        await advanceClock(1);
      }
    };
    await trickle(end - 2);
    expect(isOpen(client)).toBe(true);
    await trickle(5);
    expect(isOpen(client)).toBe(false);
    expect(client.received).toMatch(/^HTTP.*Connection: close.*timeout$/s);
    client.socket.destroy();
  });

  test("that reads under 256 bytes per second for a minute, whatever the idle timeout", async () => {
    const patient = startListener(respond, { idleTimeoutSeconds: 3600 });
    const client = await openClient(patient.port);
    client.socket.pause();
    client.send(toRequest("GET /huge HTTP/1.1"));
    await advanceClock(59);
    client.send("G");
    await arrive();
    expect(isOpen(client)).toBe(true);
    // The kernel may still accept some bytes for a while.
    for (let minute = 1; minute < 30 && isOpen(client); minute++) {
      await advanceClock(60);
      client.send("G");
      await arrive();
    }
    expect(isOpen(client)).toBe(false);
    jest.useRealTimers();
    await patient.stop(0);
  });

  test("that sends more instead of reading its response", async () => {
    const client = await openClient(listener.port);
    client.socket.pause();
    client.send(toRequest("GET /huge HTTP/1.1"));
    for (let second = 0; second < idleTimeoutSeconds + 3; second++) {
      client.send("G");
      await advanceClock(1);
    }
    client.socket.resume();
    const { received } = await client.ended();
    expect(received.length).toBeLessThan(huge.length);
    client.socket.destroy();
  });

  test("that keeps sending after the last response, but only after 30 timeouts", async () => {
    const client = await openClient(listener.port);
    client.send(toRequest("GET / HTTP/1.1", ["Connection: close"]));
    await client.ended();
    let isClosed = false;
    client.socket.once("close", () => {
      isClosed = true;
    });
    for (let second = 0; second < 31 * idleTimeoutSeconds; second++) {
      client.send("a");
      await advanceClock(1);
    }
    expect(isClosed).toBe(true);
  });

  test("that stalls in its TLS handshake", async () => {
    const secure = startListener(respond, { idleTimeoutSeconds, tls: makeCertificate() });
    const socket = connect(secure.port, "127.0.0.1", () => socket.write("\x16\x03\x01\x02\x00"));
    socket.on("error", () => {});
    // The listener accepts the connection some ticks after the client has connected, and starts the timeout then.
    for (let second = 0; second < 3 * idleTimeoutSeconds && !socket.closed; second++) await advanceClock(1);
    expect(socket.closed).toBe(true);
    jest.useRealTimers();
    await secure.stop(0);
  });
});

test("TLS timeout: frees the descriptor even if the client doesn't close its side", async () => {
  const secure = startListener(respond, { idleTimeoutSeconds, tls: makeCertificate() });
  const options = JSON.stringify({ port: secure.port, host: "127.0.0.1", rejectUnauthorized: false });
  const script = `require("tls").connect(${options}, () => console.log("connected"))`;
  const client = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "ignore" });
  await client.stdout.getReader().read();
  client.kill("SIGSTOP");
  const before = await descriptors();
  let after = before;
  for (let second = 0; second < 3 * idleTimeoutSeconds && after === before; second++) {
    await advanceClock(1);
    after = await descriptors();
  }
  client.kill("SIGKILL");
  expect(after).toBe(before - 1);
  jest.useRealTimers();
  await secure.stop(0);
});

describe("a client doesn't time out", () => {
  test("in the headers after an empty line, because the request line starts a new timeout", async () => {
    const client = await openClient(listener.port);
    for (const bytes of ["\r\n", "GET / HTTP/1.1\r\n", "Host: x\r\n\r\n"]) {
      client.send(bytes);
      await advanceClock(idleTimeoutSeconds - 2);
    }
    expect((await client.responses(1))[0]?.body).toBe("GET / ");
    client.socket.destroy();
  });

  test("while it waits for the handler", async () => {
    const client = await openClient(listener.port);
    client.send(toRequest("POST /later HTTP/1.1", ["Content-Length: 3"], "abc"));
    await advanceClock(5 * idleTimeoutSeconds);
    releases.pop()?.();
    expect((await client.responses(1))[0]?.body).toBe("POST /later abc");
    await advanceClock(idleTimeoutSeconds - 1);
    client.send(toRequest("GET / HTTP/1.1"));
    await client.responses(2);
    client.socket.destroy();
  });

  test("while its long body waits for the handler's permission", async () => {
    const client = await openClient(listener.port);
    client.send(toRequest("POST /later HTTP/1.1", ["Content-Length: 2000000"], "a".repeat(1_999_999)));
    await advanceClock(5 * idleTimeoutSeconds);
    releases.pop()?.();
    await advanceClock(idleTimeoutSeconds - 1);
    client.send("b");
    expect((await client.responses(1))[0]?.body).toEndWith("ab");
    client.socket.destroy();
  });

  test("while it waits for a 100", async () => {
    const client = await openClient(listener.port);
    client.send(toRequest("POST /later HTTP/1.1", ["Content-Length: 3", "Expect: 100-continue"]));
    await advanceClock(5 * idleTimeoutSeconds);
    releases.pop()?.();
    await client.until((received) => received.startsWith("HTTP/1.1 100"));
    await advanceClock(idleTimeoutSeconds - 1);
    client.send("abc");
    expect((await client.responses(2))[1]?.body).toBe("POST /later abc");
    client.socket.destroy();
  });

  test("while it reads, however slowly", async () => {
    const client = await openClient(listener.port);
    const allow = limitReading(client);
    client.send(toRequest("GET /large HTTP/1.1"));
    await client.until((received) => received !== "");
    for (let second = 0; second < 4 * idleTimeoutSeconds; second++) {
      allow(100_000);
      await advanceClock(1);
    }
    allow(Number.POSITIVE_INFINITY);
    expect((await client.responses(1))[0]?.body.length).toBe(large.length);
    client.socket.destroy();
  });

  test("while it reads too little for the kernel to notice", async () => {
    const client = await openClient(listener.port);
    const allow = limitReading(client);
    client.send(toRequest("GET /large HTTP/1.1"));
    await client.until((received) => received !== "");
    for (let part = 0; part < 6; part++) {
      await advanceClock(idleTimeoutSeconds - 1);
      await readPart(client, allow);
    }
    allow(Number.POSITIVE_INFINITY);
    expect((await client.responses(1))[0]?.body.length).toBe(large.length);
    client.socket.destroy();
  });

  test("in the headers after a response that it read slowly", async () => {
    const client = await openClient(listener.port);
    const allow = limitReading(client);
    client.send(`${toRequest("GET /large HTTP/1.1")}GET /next HTTP/1.1\r\nHost:`);
    await client.until((received) => received !== "");
    for (let part = 0; part < 3; part++) {
      await advanceClock(idleTimeoutSeconds - 1);
      await readPart(client, allow);
    }
    allow(Number.POSITIVE_INFINITY);
    await client.responses(1);
    await advanceClock(idleTimeoutSeconds - 2);
    client.send(" x\r\n\r\n");
    expect((await client.responses(2))[1]?.body).toBe("GET /next ");
    client.socket.destroy();
  });

  test("while it hasn't read what the kernel has accepted", async () => {
    const client = await openClient(listener.port);
    client.socket.pause();
    client.send(toRequest("GET /medium HTTP/1.1", ["Content-Length: 1000000"], "m".repeat(1_000_000)));
    await advanceClock(idleTimeoutSeconds + 3);
    client.socket.resume();
    expect((await client.responses(1))[0]?.body).toEndWith("m".repeat(1_000_000));
    client.socket.destroy();
  });
});
