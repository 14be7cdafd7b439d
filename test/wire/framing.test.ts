// Requests that a proxy in front could read differently (RFC 9112 section 11.2) are rejected, and nothing after them is read.

import { afterAll, describe, expect, test } from "bun:test";
import { exchangeOnce, openClient, toRequest } from "../support/wire/client.ts";
import { echo, startListener } from "../support/wire/listener.ts";

const listener = startListener(echo);
afterAll(() => listener.stop(0));

const smuggled = toRequest("GET /smuggled HTTP/1.1");
const post = (...lines: string[]) => toRequest("POST /x HTTP/1.1", lines);
const get = (...lines: string[]) => toRequest("GET /x HTTP/1.1", lines);

describe("a request", () => {
  test.each<[string, string]>([
    ["both lengths", `${post("Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n`],
    ["both lengths, in the other order", `${post("Transfer-Encoding: chunked", "Content-Length: 5")}0\r\n\r\n`],
    ["both lengths, in mixed case", `${post("CONTENT-LENGTH: 5", "tRANSFER-eNCODING: CHUNKED")}0\r\n\r\n`],
    ["two lengths", `${post("Content-Length: 5", "Content-Length: 6")}hello`],
    ["two equal lengths", `${post("Content-Length: 5", "Content-Length: 5")}hello`],
    ["a list of lengths", `${post("Content-Length: 5, 5")}hello`],
    ["a length with a plus", `${post("Content-Length: +5")}hello`],
    ["a length with a minus", `${post("Content-Length: -5")}hello`],
    ["a length in hexadecimal", `${post("Content-Length: 0x5")}hello`],
    ["a length with a fraction", `${post("Content-Length: 5.0")}hello`],
    ["a length with an exponent", `${post("Content-Length: 5e0")}hello`],
    ["a length with a blank inside", `${post("Content-Length: 1 0")}hello`],
    ["a length with letters after it", `${post("Content-Length: 5a")}hello`],
    ["a length in other digits", `${post("Content-Length: \xb2")}hello`],
    ["a length that is larger than every number", `${post(`Content-Length: ${"9".repeat(30)}`)}hello`],
    ["an empty length", `${post("Content-Length: ")}hello`],
    ["an unknown coding", `${post("Transfer-Encoding: cow")}0\r\n\r\n`],
    ["a coding before chunked", `${post("Transfer-Encoding: gzip, chunked")}0\r\n\r\n`],
    ["chunked twice", `${post("Transfer-Encoding: chunked, chunked")}0\r\n\r\n`],
    ["chunked on two lines", `${post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked")}0\r\n\r\n`],
    ["chunked and identity", `${post("Transfer-Encoding: chunked", "Transfer-Encoding: identity")}0\r\n\r\n`],
    ["identity", `${post("Transfer-Encoding: identity")}`],
    ["chunked with a comma", `${post("Transfer-Encoding: chunked,")}0\r\n\r\n`],
    ["chunked with a parameter", `${post("Transfer-Encoding: chunked;q=1")}0\r\n\r\n`],
    ["chunked in quotes", `${post('Transfer-Encoding: "chunked"')}0\r\n\r\n`],
    ["chunked after a vertical tab", `${post("Transfer-Encoding: \x0bchunked")}0\r\n\r\n`],
    ["chunked after a no-break space", `${post("Transfer-Encoding: \xa0chunked")}0\r\n\r\n`],
    ["an empty coding", `${post("Transfer-Encoding: ")}0\r\n\r\n`],
    ["chunked in HTTP/1.0", `${toRequest("POST /x HTTP/1.0", ["Transfer-Encoding: chunked"])}0\r\n\r\n`],
    ["a blank before the colon", `${post("Transfer-Encoding : chunked")}0\r\n\r\n`],
    ["a tab before the colon", `${post("Content-Length\t: 5")}hello`],
    ["a blank before the name", post(" Content-Length: 5")],
    ["a folded line", post("X-A: b", " Content-Length: 5")],
    ["a folded value", post("Transfer-Encoding:", " chunked")],
    ["a folded line immediately after the request line", "GET /x HTTP/1.1\r\n Host: x\r\n\r\n"],
    ["a line without a colon", post("Content-Length 5")],
    ["an empty name", post(": 5")],
    ["a name with a blank inside", post("Content Length: 5")],
    ["a name with a control character", post("Content-\x00Length: 5")],
    ["a name with letters outside ASCII", post("Content-L\xebngth: 5")],
    ["a NUL in a value", get("X-A: a\0b")],
    ["a bare CR in a value", get("X-A: a\rTransfer-Encoding: chunked")],
    ["a bare CR at the end of a value", get("X-A: a\r")],
    ["a bare LF in a value", get("X-A: a\nTransfer-Encoding: chunked")],
    ["a bare LF at the end of a line", `GET /x HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n`],
    ["only bare LFs", "GET /x HTTP/1.1\nHost: x\n\n"],
    ["only bare CRs", "GET /x HTTP/1.1\rHost: x\r\r"],
    ["CR CR LF at the end of a line", `GET /x HTTP/1.1\r\r\nHost: x\r\n\r\n`],
    ["a delete character in a value", get("X-A: a\x7fb")],
    ["no Host", "GET /x HTTP/1.1\r\nX-A: b\r\n\r\n"],
    ["two Hosts", get("Host: a", "Host: b")],
    ["two equal Hosts", get("Host: a", "Host: a")],
    ["two Hosts in HTTP/1.0", toRequest("GET /x HTTP/1.0", ["Host: a", "Host: b"])],
    ["two Hosts and an absolute target", toRequest("GET http://a/x HTTP/1.1", ["Host: a", "Host: b"])],
    ["Hosts in a list", get("Host: a, b")],
    ["a Host with a blank", get("Host: a b")],
    ["a Host with a path", get("Host: a/b")],
    ["a Host with a user", get("Host: a@b")],
    ["a Host with an invalid port", get("Host: a:b")],
    ["a Host with half a bracket", get("Host: [::1")],
    ["no version", "GET /x\r\nHost: x\r\n\r\n"],
    ["HTTP/0.9", "GET /x\r\n\r\n"],
    ["an empty Host", get("Host: ")],
    ["a Host of blanks", get("Host: \t ")],
    ["a Host that is only a port", get("Host: :80")],
    ["a Host that is only a port, in HTTP/1.0", toRequest("GET /x HTTP/1.0", ["Host: :80"])],
    ["an empty Host and an absolute target", toRequest("GET http://a/x HTTP/1.1", ["Host:"])],
    ["an empty Host in HTTP/1.2", toRequest("GET /x HTTP/1.2", ["Host:"])],
    ["HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["HTTP/2.0 and a path", toRequest("GET /x HTTP/2.0")],
    ["HTTP/0.9 and a version", toRequest("GET /x HTTP/0.9")],
    ["HTTP/3", toRequest("GET /x HTTP/3")],
    ["a version that ends after its dot", toRequest("GET /x HTTP/1.")],
    ["a version without a dot", toRequest("GET /x HTTP/11")],
    ["a version with a letter", toRequest("GET /x HTTP/1.a")],
    ["a version of three numbers", toRequest("GET /x HTTP/1.1.1")],
    ["a fragment", toRequest("GET /x#y HTTP/1.1")],
    ["an empty fragment", toRequest("GET /x# HTTP/1.1")],
    ["a fragment after a query", toRequest("GET /x?y#z HTTP/1.1")],
    ["a fragment with a query", toRequest("GET /x#?y HTTP/1.1")],
    ["a fragment in an absolute target", toRequest("GET http://y/x#z HTTP/1.1")],
    ["bytes outside ASCII in the path", toRequest("GET /\xc3\xa9 HTTP/1.1")],
    ["bytes outside ASCII in the path and the query", toRequest("GET /\xe9?\xe9 HTTP/1.1")],
    ["bytes outside ASCII in the host of the target", toRequest("GET http://\xc3\xa9/x HTTP/1.1")],
    ["an asterisk as the target of a GET", toRequest("GET * HTTP/1.1")],
    ["an asterisk as the target of a POST", toRequest("POST * HTTP/1.1", ["Content-Length: 0"])],
    ["a version of more digits", toRequest("GET /x HTTP/1.10")],
    ["a version with a zero", toRequest("GET /x HTTP/01.1")],
    ["a version in lower case", toRequest("GET /x http/1.1")],
    ["another protocol", toRequest("GET /x RTSP/1.1")],
    ["two blanks before the target", toRequest("GET  /x HTTP/1.1")],
    ["two blanks after the target", toRequest("GET /x  HTTP/1.1")],
    ["a tab instead of a blank", toRequest("GET\t/x HTTP/1.1")],
    ["a blank in the target", toRequest("GET /x y HTTP/1.1")],
    ["a blank after the version", toRequest("GET /x HTTP/1.1 ")],
    ["a blank before the method", ` ${toRequest("GET /x HTTP/1.1")}`],
    ["no target", toRequest("GET  HTTP/1.1")],
    ["a control character in the target", toRequest("GET /\x01 HTTP/1.1")],
    ["a method that is not a token", toRequest("G@T /x HTTP/1.1")],
    ["no method", toRequest(" /x HTTP/1.1")],
    ["a NUL before the request", `\0${toRequest("GET /x HTTP/1.1")}`],
    ["a TLS hello", "\x16\x03\x01\x02\x00\x01\x00"],
    ["a SOCKS hello", "\x05\x01\x00"],
  ])("with %s: rejected before its body, connection closed", async (_, bytes) => {
    const responses = await exchangeOnce(listener.port, bytes + smuggled);
    expect(responses.map(({ status, body }) => `${status} ${body}`)).toEqual(["400 malformed"]);
    expect(responses[0]?.headers.connection).toBe("close");
  });
});

describe("an incomplete header section", () => {
  test.each([
    ["a TLS hello", "\x16\x03\x01\x02"],
    ["a NUL", "\0"],
    ["lines that end in LF", "GET / HTTP/1.1\nHost: x\n\n"],
    ["a line that ends in LF", "GET / HTTP/1.1\r\nHost: x\n"],
    ["an empty line that is a LF", "\n"],
    ["more than 16 KiB", `GET /${"x".repeat(16 * 1024)}`],
  ])("with %s: rejected right away", async (_, bytes) => {
    const client = await openClient(listener.port);
    client.send(bytes);
    const [response] = await client.responses(1);
    expect(response?.status).toBe(400);
    client.socket.destroy();
  });
});

describe("a chunked body", () => {
  test.each<[string, string]>([
    ["a size with 0x", "0x5\r\nhello\r\n0\r\n\r\n"],
    ["a size with a plus", "+5\r\nhello\r\n0\r\n\r\n"],
    ["a size with a minus", "-5\r\nhello\r\n0\r\n\r\n"],
    ["a blank before the size", " 5\r\nhello\r\n0\r\n\r\n"],
    ["a blank after the size", "5 \r\nhello\r\n0\r\n\r\n"],
    ["an underscore in the size", "1_0\r\nhello\r\n0\r\n\r\n"],
    ["no size", "\r\nhello\r\n0\r\n\r\n"],
    ["an extension without a name", "5;\r\nhello\r\n0\r\n\r\n"],
    ["an extension without a value", "5;a=\r\nhello\r\n0\r\n\r\n"],
    ["an extension after a blank", "5 ;a\r\nhello\r\n0\r\n\r\n"],
    ["an extension with an unclosed quote", '5;a="b\r\nhello\r\n0\r\n\r\n'],
    ["an extension without a size", ";a=b\r\nhello\r\n0\r\n\r\n"],
    ["a size of more than 64 bits", "10000000000000005\r\nhello\r\n0\r\n\r\n"],
    ["a size that is larger than every number", `${"f".repeat(400)}\r\nhello\r\n0\r\n\r\n`],
    ["a size that ends in LF", "5\nhello\r\n0\r\n\r\n"],
    ["a size that ends in CR", "5\rhello\r\n0\r\n\r\n"],
    ["a bare LF in an extension", "5;a\nhello\r\n0\r\n\r\n"],
    ["a bare CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"],
    ["a NUL in an extension", "5;a\0b\r\nhello\r\n0\r\n\r\n"],
    ["an endless extension", `5;${"a".repeat(3000)}\r\nhello\r\n0\r\n\r\n`],
    ["data that are longer than their size", "5\r\nhello!\r\n0\r\n\r\n"],
    ["data that end in LF", "5\r\nhello\n0\r\n\r\n"],
    ["data that end in CR CR LF", "5\r\nhello\r\r\n0\r\n\r\n"],
    ["data without an end", "5\r\nhello0\r\n\r\n"],
    ["a last line that ends in LF", "5\r\nhello\r\n0\r\n\n"],
    ["a trailer that is not a header field", "5\r\nhello\r\n0\r\nno field\r\n\r\n"],
    ["a trailer with a bare CR", "5\r\nhello\r\n0\r\nA: b\rc\r\n\r\n"],
    ["a trailer with a bare LF", "5\r\nhello\r\n0\r\nA: b\n\r\n\r\n"],
    ["a trailer with a length", "5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n"],
    ["a trailer with a coding", "5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ["a folded trailer", "5\r\nhello\r\n0\r\nA: b\r\n c\r\n\r\n"],
    ["endless trailers", `5\r\nhello\r\n0\r\n${"A: b\r\n".repeat(4000)}\r\n`],
  ])("with %s: rejected, connection closed", async (_, body) => {
    const header = post("Transfer-Encoding: chunked");
    for (const pieces of [[header + body + smuggled], [header, body + smuggled], [header, body, smuggled]]) {
      const responses = await exchangeOnce(listener.port, pieces);
      expect(responses.map(({ status, body }) => `${status} ${body}`)).toEqual(["400 malformed"]);
      expect(responses[0]?.headers.connection).toBe("close");
    }
  });
});

describe("limits", () => {
  const size = 16 * 1024;
  /** Returns a request whose request line and header section have this length. */
  const requestOf = (bytes: number, before = "") => {
    const rest = before + get("X-Long: ");
    return rest.replace("X-Long: ", `X-Long: ${"l".repeat(bytes - rest.length)}`);
  };
  const piecesOf = (text: string) => [[text], [text.slice(0, -1), text.slice(-1)], [text.slice(0, 9), text.slice(9)]];

  test.each([
    ["", size],
    ["\r\n", size],
  ])("header section after %j: 16 KiB but not a byte more, in any pieces", async (before, most) => {
    for (const pieces of piecesOf(requestOf(most, before))) {
      const responses = await exchangeOnce(listener.port, [...pieces, smuggled]);
      expect(responses.map(({ body }) => body)).toEqual(["GET /x ", "GET /smuggled "]);
    }
    for (const pieces of piecesOf(requestOf(most + 1, before))) {
      const received = await exchangeOnce(listener.port, [...pieces, smuggled]);
      expect(received.map(({ body }) => body)).toEqual(["header-too-large"]);
    }
  });

  test.each([
    ["before data", (extension: string) => `5${extension}\r\nhello\r\n0\r\n\r\n`],
    ["before the end", (extension: string) => `5\r\nhello\r\n0${extension}\r\n\r\n`],
    ["in the trailers", (extension: string) => `5\r\nhello\r\n0\r\nA:${extension.slice(1)}\r\n\r\n`],
  ])("a line %s: 1024 but not 1025 bytes, wherever it's split", async (_, bodyWith) => {
    const header = post("Transfer-Encoding: chunked");
    for (const [length, expected] of [
      [1024, ["POST /x hello", "GET /smuggled "]],
      [1025, ["malformed"]],
    ] as const) {
      const bytes = header + bodyWith(`;${"e".repeat(length - "5;\r\n".length)}`) + smuggled;
      const end = bytes.lastIndexOf("e") + 1;
      for (const at of [0, end, end + 1, end + 2, header.length, header.length + 900]) {
        const responses = await exchangeOnce(listener.port, [bytes.slice(0, at), bytes.slice(at)]);
        expect(responses.map(({ body }) => body)).toEqual([...expected]);
      }
    }
  });

  test("chunked body: endless line", async () => {
    const client = await openClient(listener.port);
    client.send(`${post("Transfer-Encoding: chunked")}5;${"e".repeat(1100)}`);
    const [response] = await client.responses(1);
    expect(response?.body).toBe("malformed");
    client.socket.destroy();
  });

  test("trailer section: 16 KiB but not a byte more", async () => {
    const line = `A: ${"b".repeat(507)}\r\n`;
    const body = (trailers: string) => `${post("Transfer-Encoding: chunked")}5\r\nhello\r\n0\r\n${trailers}\r\n`;
    const bodies = async (bytes: string) =>
      (await exchangeOnce(listener.port, bytes + smuggled)).map(({ body }) => body);
    expect(line.repeat(32)).toHaveLength(16 * 1024);
    expect(await bodies(body(line.repeat(32)))).toEqual(["POST /x hello", "GET /smuggled "]);
    expect(await bodies(body(`${line.repeat(31)}x${line}`))).toEqual(["malformed"]);
  });
});

describe("an unusual request", () => {
  const hello = "POST /x hello";
  test.each<[string, string, string]>([
    ["a length", `${post("Content-Length: 5")}hello`, hello],
    ["a length with zeros before it", `${post("Content-Length: 0005")}hello`, hello],
    ["a length with blanks around it", `${post("Content-Length: \t 5 \t")}hello`, hello],
    ["a length immediately after the colon", `${post("content-length:5")}hello`, hello],
    ["no length", post(), "POST /x "],
    ["the method GET and a body", `${get("Content-Length: 5")}hello`, "GET /x hello"],
    ["chunks", `${post("Transfer-Encoding: chunked")}2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`, hello],
    ["chunked in mixed case", `${post("transfer-encoding:\tCHUNKED ")}5\r\nhello\r\n0\r\n\r\n`, hello],
    [
      "sizes with zeros and in both cases",
      `${post("Transfer-Encoding: chunked")}0a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n`,
      "POST /x 01234567890123456789",
    ],
    ["extensions", `${post("Transfer-Encoding: chunked")}5;a=b;c="d e"\r\nhello\r\n0;z\r\n\r\n`, hello],
    ["trailers", `${post("Transfer-Encoding: chunked")}5\r\nhello\r\n0\r\nA: b\r\nC:\r\n\r\n`, hello],
    ["an empty line before the request", `\r\n${get()}`, "GET /x "],
    ["an absolute target", toRequest("GET http://y/x?z HTTP/1.1"), "GET http://y/x?z "],
    ["an asterisk", toRequest("OPTIONS * HTTP/1.1"), "OPTIONS * "],
    ["an unregistered method", toRequest("M-SEARCH! /x HTTP/1.1"), "M-SEARCH! /x "],
    [
      "bytes outside ASCII in the query and in a value",
      toRequest("GET /x?\xe9=?\xc3\xa9 HTTP/1.1", ["X: \xe9\xff"]),
      "GET /x?\xe9=?\xc3\xa9 ",
    ],
    ["HTTP/1.2", toRequest("GET /x HTTP/1.2"), "GET /x "],
    ["HTTP/1.9 and chunks", `${toRequest("POST /x HTTP/1.9", ["Transfer-Encoding: chunked"])}0\r\n\r\n`, "POST /x "],
    ["an address as Host", get("Host: [::1]:80"), "GET /x "],
    ["an address of all digits as Host", get("Host: [0123:4567:89ab:cdef:ABCD:EF::1.2.3.4]"), "GET /x "],
    ["a name with every character as Host", get("Host: aZ09_.~!$&'()*+;=%41\xc3\xbc-:09"), "GET /x "],
    ["an empty Host in HTTP/1.0", toRequest("GET /x HTTP/1.0", ["Host: ", "Connection: keep-alive"]), "GET /x "],
    ["field names that are members of every object", get("__proto__: a", "constructor: b", "toString: c"), "GET /x "],
  ])("with %s is accepted", async (_, bytes, read) => {
    const responses = await exchangeOnce(listener.port, bytes + toRequest("GET /next HTTP/1.1"));
    expect(responses.map(({ body }) => body)).toEqual([read, "GET /next "]);
  });
});

test("CONNECT: last request, because what follows is meant for a tunnel", async () => {
  for (const lines of [[], ["Connection: keep-alive"]]) {
    const bytes = toRequest("GET /before HTTP/1.1", lines) + toRequest("CONNECT y:443 HTTP/1.1", lines) + smuggled;
    const responses = await exchangeOnce(listener.port, bytes);
    expect(responses.map(({ body }) => body)).toEqual(["GET /before ", "CONNECT y:443 "]);
    expect(responses.at(-1)?.headers.connection).toBe("close");
  }
});
