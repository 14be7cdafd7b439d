// Requests and responses over TLS, and connections to the wrong port.

import { afterAll, describe, expect, test } from "bun:test";
import { connect } from "node:tls";
import type { WireRequest } from "../../src/wire/request.ts";
import type { WireResponse } from "../../src/wire/response.ts";
import { makeCertificate } from "../support/http/certificate.ts";
import { openClient, toRequest, toResponses, type WireClient } from "../support/wire/client.ts";
import { echo, startListener } from "../support/wire/listener.ts";

const numbers = new Uint32Array(3 * 2 ** 20);
for (let index = 0; index < numbers.length; index++) numbers[index] = index;
/** 12 MiB without repetition. */
const whole = new Uint8Array(numbers.buffer);
const pieces = [whole.subarray(0, 100), whole.subarray(100, 1_000_000), whole.subarray(1_000_000)];

function respond(request: WireRequest): WireResponse | Promise<WireResponse> {
  return request.target === "/large" ? { status: 200, headers: [], body: pieces } : echo(request);
}

const incidents: unknown[] = [];
const listener = startListener(
  respond,
  { tls: makeCertificate() },
  { logIncident: (...incident) => void incidents.push(incident) },
);
afterAll(() => listener.stop(0));

const get = (target: string) => toRequest(`GET ${target} HTTP/1.1`);

function openSecure(): Promise<WireClient> {
  const options = { port: listener.port, host: "127.0.0.1", rejectUnauthorized: false, allowHalfOpen: true };
  return openClient(listener.port, connect(options));
}

describe("over TLS", () => {
  test("sequential and pipelined requests", async () => {
    const client = await openSecure();
    client.send(get("/a"));
    await client.responses(1);
    client.send(get("/b").repeat(2000) + toRequest("POST /c HTTP/1.1", ["Content-Length: 5"], "hello"));
    const responses = await client.responses(2002);
    expect(responses.at(-1)?.body).toBe("POST /c hello");
    client.socket.destroy();
  });

  test("large response to a late reader", async () => {
    const client = await openSecure();
    client.socket.pause();
    client.send(get("/large") + get("/next"));
    const other = await openSecure();
    for (let count = 1; count <= 20; count++) {
      other.send(get("/other"));
      await other.responses(count);
    }
    other.socket.destroy();
    client.socket.resume();
    const [large, next] = await client.responses(2);
    expect(Buffer.from(large?.body ?? "", "latin1").equals(whole)).toBe(true);
    expect(next?.body).toBe("GET /next ");
    client.socket.destroy();
  });

  test("many requests before reading: all responses arrive later", async () => {
    const client = await openSecure();
    client.socket.pause();
    client.send(get("/large") + get("/x").repeat(20_000));
    const other = await openSecure();
    for (let count = 1; count <= 20; count++) {
      other.send(get("/other"));
      await other.responses(count);
    }
    other.socket.destroy();
    client.socket.resume();
    expect((await client.responses(20_001)).at(-1)?.body).toBe("GET /x ");
    client.socket.destroy();
  });

  test("client has closed its side: still gets responses", async () => {
    const client = await openSecure();
    client.send(get("/a") + get("/large"));
    client.socket.end();
    const { received, isReset } = await client.ended();
    expect(isReset).toBe(false);
    expect(toResponses(received).map(({ body }) => body.length)).toEqual([7, whole.length]);
    client.socket.destroy();
  });

  test("last response complete before the connection ends", async () => {
    const client = await openSecure();
    client.send(toRequest("GET /large HTTP/1.1", ["Connection: close"]));
    const { received, isReset } = await client.ended();
    expect(isReset).toBe(false);
    expect(toResponses(received)[0]?.body.length).toBe(whole.length);
    client.socket.destroy();
  });
});

describe("on the wrong port", () => {
  test("plain HTTP to a TLS port: ended and reported, but not if the client just disconnects", async () => {
    const leaving = await openClient(listener.port);
    leaving.send("\x16");
    leaving.socket.destroy();
    const client = await openClient(listener.port);
    client.send(get("/"));
    expect((await client.ended()).received).not.toContain("HTTP/1.1 200");
    expect(incidents).toEqual([["TLS handshake failed", expect.stringContaining("HTTP_REQUEST")]]);
    client.socket.destroy();
  });

  test("TLS to a plain port: error right away", async () => {
    const plain = startListener(echo);
    const socket = connect({ port: plain.port, host: "127.0.0.1", rejectUnauthorized: false });
    const error = await new Promise<Error>((resolve) => socket.once("error", resolve));
    expect(error).toBeInstanceOf(Error);
    await plain.stop(0);
  });
});
