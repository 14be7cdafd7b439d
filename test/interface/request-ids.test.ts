import { afterAll, describe, expect, test } from "bun:test";
import { traceIn } from "../../src/http/request-ids.ts";
import { HeaderFields } from "../../src/wire/header-fields.ts";
import { startTestServer } from "../support/http/server.ts";

const server = await startTestServer();
afterAll(() => server.stop());

describe("X-Request-Id", () => {
  const send = (id: string) => server.call("GET", "/restapi/brands/9.json", { headers: { "X-Request-Id": id } });

  test.each([
    "7b3e6f0a-3f51-4a1e-9a55-2f1f0c3f8f0e",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "Root=1-67891233-abcdef012345678912345678",
    "x",
    "a".repeat(128),
  ])("%s becomes the request's ID", async (id) => {
    const { headers, json } = await send(id);
    expect([headers.get("X-Request-Id"), json.instance]).toEqual([id, id]);
  });

  test.each([
    ["an empty ID", ""],
    ["two IDs", "a, b"],
    ["an ID of 129 characters", "a".repeat(129)],
    ["a quote", 'a"b'],
    ["markup", "<b>"],
    ["a control character of a terminal", "a\u009b31m"],
    ["a space", "a b"],
    ["a path", "//example.com/x"],
  ])("%s is replaced", async (_, id) => {
    const { headers, json } = await send(id);
    expect(headers.get("X-Request-Id")).toMatch(/^[0-9A-Za-z]{9,}$/);
    expect(headers.get("X-Request-Id")).not.toBe(id);
    expect(json.instance).toBe(headers.get("X-Request-Id"));
  });
});

describe("traceparent", () => {
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const span = "00f067aa0ba902b7";
  test.each([
    `00-${trace}-${span}-01`,
    `00-${trace}-${span}-00`,
    `cc-${trace}-${span}-01`,
    `cc-${trace}-${span}-01-what-the-future-will-be-like`,
  ])("%p is valid", (value) => {
    expect(traceIn(new HeaderFields(new Map([["traceparent", value]])))).toEqual({ trace, span });
  });

  test.each([
    `00-${trace}-${span}-01-more`,
    `ff-${trace}-${span}-01`,
    `00-${"0".repeat(32)}-${span}-01`,
    `00-${trace}-${"0".repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${trace}-${span}`,
    `00-${trace}-${span}-01, 00-${trace}-${span}-01`,
    "",
  ])("%p is ignored", (value) => {
    expect(traceIn(new HeaderFields(new Map([["traceparent", value]])))).toEqual({});
  });
});
