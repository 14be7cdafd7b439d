// Requests sent before earlier ones have their responses (RFC 9112 section 9.3.2).

import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { WireRequest } from "../../src/wire/request.ts";
import type { WireResponse } from "../../src/wire/response.ts";
import { cut, exchangeOnce, openClient, toChunks, toRequest, toResponses } from "../support/wire/client.ts";
import { echo, echoNow, startListener, text } from "../support/wire/listener.ts";

const large = "l".repeat(300_000);
const releases: (() => void)[] = [];
/** The targets, in the order of the requests. */
const handled: string[] = [];

/** `/now` and `/large` get their response immediately, and `/later` after a promise. `/waiting` waits until a function in `releases` is called. */
function respond(request: WireRequest): WireResponse | Promise<WireResponse> {
  handled.push(request.target);
  if (request.target.startsWith("/now")) return echoNow(request);
  if (request.target === "/large") return text(large);
  if (request.target !== "/waiting") return echo(request);
  return new Promise((resolve) => releases.push(() => resolve(text("waiting"))));
}

const listener = startListener(respond);
afterAll(() => listener.stop(0));

const sequence = (count: number) => Array.from({ length: count }, (_, index) => index);
const get = (target: string) => toRequest(`GET ${target} HTTP/1.1`);

interface Case {
  readonly bytes: string;
  readonly body: string;
  readonly isHead?: boolean;
}

const target = fc.constantFrom("/now", "/later", "/now?a=b&c");
const bodyText = fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 60 });
const request: fc.Arbitrary<Case> = fc.oneof(
  target.map((path) => ({ bytes: get(path), body: path.startsWith("/now") ? `GET ${path}` : `GET ${path} ` })),
  target.map((path) => ({ bytes: toRequest(`HEAD ${path} HTTP/1.1`), body: "", isHead: true })),
  bodyText.map((body) => ({
    bytes: toRequest("POST /later HTTP/1.1", [`Content-Length: ${body.length}`], body),
    body: `POST /later ${body}`,
  })),
  fc.tuple(bodyText, fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 5 })).map(([body, sizes]) => ({
    bytes: toRequest("PUT /later HTTP/1.1", ["Transfer-Encoding: chunked"], toChunks(body, sizes)),
    body: `PUT /later ${body}`,
  })),
  fc.constant({ bytes: `\r\n${get("/now")}`, body: "GET /now" }),
  fc.constant({ bytes: get("/large"), body: large }),
  fc.constant({ bytes: toRequest("POST /now HTTP/1.1", ["Content-Length: 3"], "abc"), body: "POST /now" }),
);

describe("a stream of requests", () => {
  test("same responses in any pieces", async () => {
    const cuts = fc.array(fc.nat(), { maxLength: 20 });
    const property = fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 8 }), cuts, async (cases, cuts) => {
      const client = await openClient(listener.port);
      await client.sendPieces(cut(cases.map(({ bytes }) => bytes).join(""), cuts));
      client.socket.end();
      const { received } = await client.ended();
      client.socket.destroy();
      const responses = toResponses(received, (index) => cases[index]?.isHead ?? false);
      expect(responses.map(({ body }) => body)).toEqual(cases.map(({ body }) => body));
    });
    await fc.assert(property, { numRuns: 120 });
  });

  test("many thousands: responses in order", async () => {
    const count = 20_000;
    const responses = await exchangeOnce(
      listener.port,
      sequence(count)
        .map((index) => get(`/now/${index}`))
        .join(""),
    );
    expect(responses.map(({ body }) => body)).toEqual(sequence(count).map((index) => `GET /now/${index}`));
  });

  test("many thousands: late responses in order", async () => {
    const count = 5000;
    const responses = await exchangeOnce(
      listener.port,
      sequence(count)
        .map((index) => get(`/later/${index}`))
        .join(""),
    );
    expect(responses.map(({ body }) => body)).toEqual(sequence(count).map((index) => `GET /later/${index} `));
  });

  test("all responses after the client's end, even late or large ones", async () => {
    const responses = await exchangeOnce(listener.port, [get("/later"), get("/large") + get("/later") + get("/now")]);
    expect(responses.map(({ body }) => body)).toEqual(["GET /later ", large, "GET /later ", "GET /now"]);
  });

  test("cut off in a request: responses to earlier ones", async () => {
    const responses = await exchangeOnce(listener.port, `${get("/later") + get("/now")}GET /ha`);
    expect(responses.map(({ body }) => body)).toEqual(["GET /later ", "GET /now"]);
  });

  test("garbage at the end: responses, then a 400, even if many bytes follow", async () => {
    const stream = `${get("/later")}${get("/now").repeat(5000)}BAD\r\n\r\n${"x".repeat(300_000)}`;
    const responses = await exchangeOnce(listener.port, stream);
    expect(responses).toHaveLength(5002);
    expect(responses.at(-1)?.body).toBe("malformed");
  });

  test("no responses after `Connection: close`", async () => {
    const last = toRequest("GET /now HTTP/1.1", ["Connection: foo , Close"]);
    const responses = await exchangeOnce(listener.port, get("/now") + last + get("/now/more"));
    expect(responses.map(({ headers }) => headers.connection)).toEqual([undefined, "close"]);
  });
});

describe("a client that sends but doesn't read", () => {
  const much = Buffer.from(get("/now").repeat(2 ** 20));

  test.each([
    ["while its request is with the handler", 1, "/waiting"],
    ["while large responses wait for it", 40, "/large"],
  ])("%s is paused, doesn't affect others, and gets its responses when it reads", async (_, count, first) => {
    const client = await openClient(listener.port);
    client.socket.pause();
    client.send(get(first).repeat(count));
    let isSent = false;
    client.socket.write(much, () => {
      isSent = true;
    });
    const other = await openClient(listener.port);
    for (let exchange = 1; exchange <= 200; exchange++) {
      other.send(get("/now"));
      await other.responses(exchange);
    }
    expect(isSent).toBe(false);
    other.socket.destroy();
    for (const release of releases.splice(0)) release();
    client.socket.resume();
    const responses = await client.responses(count + 100);
    expect(responses[count + 99]?.body).toBe("GET /now");
    client.socket.destroy();
  });
});

describe("other clients get their responses during", () => {
  const many = 2000;
  const put = (header: string) => toRequest("PUT /now/many HTTP/1.1", [header]);
  const smallChunks = `${put("Transfer-Encoding: chunked")}${"1\r\na\r\n".repeat(15_000)}0\r\n\r\n`;

  test.each([
    ["the requests of one client", 1, get("/now/many").repeat(many)],
    ["the requests of many clients", 20, get("/now/many").repeat(many / 20)],
    ["requests whose responses have no body", 1, toRequest("HEAD /now/many HTTP/1.1").repeat(many)],
    ["requests with bodies", 1, `${put("Content-Length: 2")}{}`.repeat(many)],
    ["a body in very small chunks and the requests after it", 1, smallChunks + get("/now/many").repeat(10)],
  ])("%s", async (_, count, stream) => {
    const clients = await Promise.all(sequence(count).map(() => openClient(listener.port)));
    const other = await openClient(listener.port);
    handled.length = 0;
    for (const client of clients) client.send(stream);
    other.send(get("/now/other"));
    await other.responses(1);
    const total = count * stream.split("/now/many").length - count;
    expect(handled.filter((path) => path === "/now/many").length).toBeLessThan(total / 2);
    for (const { socket } of [...clients, other]) socket.destroy();
  });
});
