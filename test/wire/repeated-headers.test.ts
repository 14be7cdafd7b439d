// A header reader caches parts of its connection's last header, but reads every header as a new reader would.

import { describe, expect, test } from "bun:test";
import { HeaderReader } from "../../src/wire/header-reader.ts";
import { RequestError } from "../../src/wire/request-error.ts";

const section = "Host: shop.example\r\nX-API-AUTH: sfk_1\r\nAccept: */*\r\n\r\n";
const request = `GET /restapi/brands/1.json HTTP/1.1\r\n${section}`;

const post = (length: string) =>
  `POST /restapi/brands.json HTTP/1.1\r\n${section.replace("Accept", `Content-Length: ${length}\r\nAccept`)}`;

function readWith(reader: HeaderReader, input: string) {
  try {
    const header = reader.parse(Buffer.from(input, "latin1"));
    if (!header) return "incomplete";
    const { method, target, isHttp10, bytes, section: read } = header;
    const names = ["host", "x-api-auth", "accept", "content-length", "transfer-encoding"];
    return {
      method,
      target,
      isHttp10,
      bytes,
      framing: read.framing,
      values: names.map((name) => read.headers.get(name)),
    };
  } catch (error) {
    return error instanceof RequestError ? `${error.reason}: ${error.message}` : error;
  }
}

const next: [name: string, input: string][] = [
  ["the same request", request],
  ["the same request twice", request + request],
  ["the same request, and a part of the next request", request + request.slice(0, 30)],
  ["another target", `GET /restapi/brands/22.xml HTTP/1.1\r\n${section}`],
  ["another method", `DELETE /restapi/brands/1.json HTTP/1.1\r\n${section}`],
  ["a target of 15 KiB", `GET /${"a".repeat(15_000)} HTTP/1.1\r\n${section}`],
  ["a target of 17 KiB", `GET /${"a".repeat(17_000)} HTTP/1.1\r\n${section}`],
  ["an empty line before it", `\r\n${request}`],
  ["a lone LF before it", `\n${request}`],
  ["a request line that ends with LF", request.replace("\r\n", "\n")],
  ["a request line with CR in it", request.replace(" HTTP", "\r HTTP")],
  ["no request line", section],
  ["an invalid request line", `GET  / HTTP/1.1\r\n${section}`],
  ["HTTP/1.0", `GET / HTTP/1.0\r\n${section}`],
  ["HTTP/1.2", `GET / HTTP/1.2\r\n${section}`],
  ["a fragment", `GET /#a HTTP/1.1\r\n${section}`],
  ["a CONNECT", `CONNECT a:443 HTTP/1.1\r\n${section}`],
  ["an asterisk", `OPTIONS * HTTP/1.1\r\n${section}`],
  ["a GET of an asterisk", `GET * HTTP/1.1\r\n${section}`],
  ["another key of the same length", request.replace("sfk_1", "sfk_2")],
  ["a longer key", request.replace("sfk_1", "sfk_12")],
  ["one more field", request.replace("Accept", "Content-Length: 3\r\nAccept")],
  ["a length", post("12")],
  ["another length", post("7")],
  ["another length with its body", `${post("3")}abc`],
  ["another length and another target", post("345").replace("brands", "locations")],
  ["another length and another key", post("5").replace("sfk_1", "sfk_2")],
  ["zeros before a length", post("0012")],
  ["a length of 0", post("0")],
  ["a length of 15 digits", post("123456789012345")],
  ["a length of 16 digits", post("1234567890123456")],
  ["two lengths in one field", post("12, 12")],
  ["two fields with a length", post("12\r\nContent-Length: 13")],
  ["a length with white space after it", post("12 ")],
  ["no digits", post("")],
  ["a negative length", post("-1")],
  ["a length that is cut off", post("12").slice(0, -9)],
  ["a length and Transfer-Encoding", post("12\r\nTransfer-Encoding: chunked")],
  ["two hosts", request.replace("Accept", "Host: b\r\nAccept")],
  ["an empty host", request.replace("shop.example", "")],
  ["an empty host in HTTP/1.0", `GET / HTTP/1.0\r\n${section.replace("shop.example", "")}`],
  ["no host", request.replace("Host: shop.example\r\n", "")],
  ["no fields", "GET / HTTP/1.0\r\n\r\n"],
  ["half of the request", request.slice(0, 60)],
  ["all but the last byte", request.slice(0, -1)],
  ["a body after it", `${request}GET / HTTP/1.1`],
  ["no bytes", ""],
];

describe("after a request, a reader reads like a new reader:", () => {
  test.each(next)("%s", (_, input) => {
    const reader = new HeaderReader();
    readWith(reader, request);
    expect(readWith(reader, input)).toEqual(readWith(new HeaderReader(), input));
  });

  test("any two requests in a row", () => {
    const reader = new HeaderReader();
    for (const [, one] of next) {
      for (const [, other] of next) {
        for (const input of [one, other]) expect(readWith(reader, input)).toEqual(readWith(new HeaderReader(), input));
      }
    }
  });
});

test("HTTP/1.0 request with the headers of a chunked HTTP/1.1 one: rejected", () => {
  const reader = new HeaderReader();
  const chunked = "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  expect(readWith(reader, `POST / HTTP/1.1\r\n${chunked}`)).toMatchObject({ method: "POST" });
  expect(readWith(reader, `POST / HTTP/1.0\r\n${chunked}`)).toBe(
    "malformed: HTTP/1.0 has no Transfer-Encoding; use HTTP/1.1 or send a Content-Length",
  );
});

test("bytes changed after a request was read: no effect on the next one", () => {
  const reader = new HeaderReader();
  const input = Buffer.from(`${request}${request}`, "latin1");
  const first = reader.parse(input);
  input.fill("x");
  expect(first?.section.headers.get("x-api-auth")).toBe("sfk_1");
  expect(readWith(reader, request)).toEqual(readWith(new HeaderReader(), request));
});
