// What in a response depends on the request's method and version, and values that mustn't be sent.

import { afterAll, describe, expect, test } from "bun:test";
import { statusOf } from "../../src/formats/format.ts";
import { joinWithHeadroom } from "../../src/lib/bytes.ts";
import { type ErrorCode, problemTitles } from "../../src/model/errors.ts";
import type { WireRequest } from "../../src/wire/request.ts";
import { toHeaderLines, type WireResponse } from "../../src/wire/response.ts";
import { exchangeOnce, openClient, toRequest, toResponses } from "../support/wire/client.ts";
import { echoNow, startListener, text } from "../support/wire/listener.ts";

const bytes = new TextEncoder().encode("bytes");
const responses: Record<string, WireResponse> = {
  "/text": text("tëxt", 200, { "X-A": "b" }),
  "/bytes": { status: 200, headers: [], body: bytes },
  "/pieces": { status: 201, headers: [], body: [bytes, new Uint8Array(), bytes] },
  "/large": text("€".repeat(100_000)),
  "/headroom": { status: 200, headers: [], body: joinWithHeadroom([bytes, bytes]) },
  "/headroom-long-header": { ...text("", 200, { "X-Long": "h".repeat(20_000) }), body: joinWithHeadroom([bytes]) },
  "/none": { status: 200, headers: [], body: null },
  "/204": { status: 204, headers: [], body: null },
  "/304": { status: 304, headers: toHeaderLines({ ETag: '"a"' }), body: null },
  "/long-header": text("x", 200, { "X-Long": "h".repeat(20_000) }),
};

/** RFC 9110 section 15; 429 and 431 from RFC 6585. */
const reasons = new Map([
  [200, "OK"],
  [201, "Created"],
  [204, "No Content"],
  [304, "Not Modified"],
  [400, "Bad Request"],
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "Not Found"],
  [405, "Method Not Allowed"],
  [408, "Request Timeout"],
  [409, "Conflict"],
  [410, "Gone"],
  [412, "Precondition Failed"],
  [413, "Content Too Large"],
  [415, "Unsupported Media Type"],
  [421, "Misdirected Request"],
  [422, "Unprocessable Content"],
  [429, "Too Many Requests"],
  [431, "Request Header Fields Too Large"],
  [500, "Internal Server Error"],
  [501, "Not Implemented"],
  [503, "Service Unavailable"],
]);

function respond(request: WireRequest): WireResponse | Promise<WireResponse> {
  if (request.target === "/throw") throw new Error("a bug");
  if (request.target === "/reject") return Promise.reject(new Error("a bug"));
  const [, status] = /^\/status\/(\d+)$/.exec(request.target) ?? [];
  if (status) return { status: Number(status), headers: [], body: null };
  return responses[request.target] ?? echoNow(request);
}

const listener = startListener(respond);
afterAll(() => listener.stop(0));

const next = toRequest("GET /next HTTP/1.1");

describe("a response", () => {
  test.each([
    ["text", "/text", "t\xc3\xabxt"],
    ["bytes", "/bytes", "bytes"],
    ["pieces", "/pieces", "bytesbytes"],
    ["text that is larger than a buffer", "/large", "\xe2\x82\xac".repeat(100_000)],
    ["bytes with headroom", "/headroom", "bytesbytes"],
    ["bytes with too little headroom", "/headroom-long-header", "bytes"],
    ["no body", "/none", ""],
    ["a long header", "/long-header", "x"],
  ])("of %s has its length and date, and HEAD gets the same without the body", async (_, path, body) => {
    const [got] = await exchangeOnce(listener.port, toRequest(`GET ${path} HTTP/1.1`));
    expect(got?.body).toBe(body);
    expect(Date.parse(got?.headers.date ?? "")).toBeGreaterThan(Date.now() - 5000);
    const client = await openClient(listener.port);
    client.send(toRequest(`HEAD ${path} HTTP/1.1`) + next);
    const received = await client.until((sofar) => sofar.endsWith("GET /next"));
    const [toHead] = toResponses(received, (index) => index === 0);
    expect({ ...toHead, headers: { ...toHead?.headers, date: "" } }).toEqual({
      status: got?.status as number,
      headers: { ...got?.headers, date: "" },
      body: "",
    });
    client.socket.destroy();
  });

  test.each(["/204", "/304"])("%s has neither a body nor a Content-Length", async (path) => {
    const responses = await exchangeOnce(listener.port, toRequest(`GET ${path} HTTP/1.1`) + next);
    expect(responses).toHaveLength(2);
    expect(responses[0]?.headers["content-length"]).toBeUndefined();
  });
});

describe("the connection", () => {
  test.each<[string, string, string[], string | undefined]>([
    ["stays open in HTTP/1.1", "1.1", [], undefined],
    ["stays open in HTTP/1.1 with keep-alive", "1.1", ["Connection: keep-alive"], undefined],
    ["ends in HTTP/1.1 with close", "1.1", ["Connection: close"], "close"],
    ["ends in HTTP/1.1 with both", "1.1", ["Connection: keep-alive", "Connection: CLOSE"], "close"],
    ["stays open in HTTP/1.1 with other options", "1.1", ["Connection: closed, x-close"], undefined],
    ["ends in HTTP/1.0", "1.0", [], "close"],
    ["stays open in HTTP/1.0 with keep-alive", "1.0", ["Connection: foo, Keep-Alive"], "keep-alive"],
    ["ends in HTTP/1.0 with both", "1.0", ["Connection: keep-alive, close"], "close"],
  ])("%s", async (_, version, lines, expected) => {
    const responses = await exchangeOnce(listener.port, toRequest(`GET /text HTTP/${version}`, lines) + next);
    expect(responses[0]?.headers.connection).toBe(expected as string);
    expect(responses).toHaveLength(expected === "close" ? 1 : 2);
  });
});

test("reason phrases: as in the RFCs", async () => {
  const seen: string[] = [];
  for (const status of reasons.keys()) {
    const client = await openClient(listener.port);
    client.send(toRequest(`GET /status/${status} HTTP/1.1`, ["Connection: close"]));
    seen.push((await client.ended()).received.split("\r\n", 1)[0] as string);
    client.socket.destroy();
  }
  expect(seen).toEqual([...reasons].map(([status, reason]) => `HTTP/1.1 ${status} ${reason}`));
});

test.each([
  "b\r\nX-Injected: yes",
  "b\nX-Injected: yes",
  "b\rX-Injected: yes",
  "b\0",
  "\u010d\u010a",
])("header value with a line break, %j: not sent", (value) => {
  expect(() => toHeaderLines({ "X-A": value })).toThrow("header X-A contains a character that can't be sent");
});

describe("an error that the handler throws or rejects with", () => {
  test.each(["/throw", "/reject"])("for %s ends only its connection", async (path) => {
    const other = await openClient(listener.port);
    const client = await openClient(listener.port);
    client.send(toRequest(`GET ${path} HTTP/1.1`));
    expect((await client.ended()).received).toBe("");
    other.send(next);
    expect(await other.responses(1)).toHaveLength(1);
    other.socket.destroy();
  });
});

test("reason phrases: one for every problem's status", () => {
  expect(Object.keys(problemTitles).filter((code) => !reasons.has(statusOf(code as ErrorCode)))).toEqual([]);
});
