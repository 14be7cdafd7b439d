// Whatever bytes arrive, the listener responds or ends the connection, and no connection stays open.

import { afterAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import fc from "fast-check";
import { cut, exchangeOnce, openClient, toRequest } from "../support/wire/client.ts";
import { echo, startListener } from "../support/wire/listener.ts";

const listener = startListener(echo);
afterAll(() => listener.stop(0));

const good = toRequest("GET /good HTTP/1.1");
const latin = (maxLength: number) =>
  fc.array(fc.integer({ min: 0, max: 255 }), { maxLength }).map((codes) => String.fromCharCode(...codes));
/** Parts of valid and invalid requests. */
const word = fc.constantFrom(
  ...["GET ", "POST ", "/x", " HTTP/1.1", " HTTP/1.0", "\r\n", "\r\n\r\n", "\n", "\r", "\0", " ", "\t", ":", ",", ";"],
  ...["Host: x\r\n", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "A: b\r\n"],
  ...["Expect: 100-continue\r\n", "3\r\nabc\r\n", "0\r\n\r\n", "abc", "-1", "ffffffffff", "\x16\x03\x01", "\xff", good],
);
const words = fc
  .array(fc.oneof({ weight: 6, arbitrary: word }, latin(8)), { maxLength: 25 })
  .map((all) => all.join(""));
const anyBytes = fc.oneof(
  latin(300),
  words,
  words.map((text) => good + text),
);

test("any bytes: same responses in any pieces, then the connection ends", async () => {
  const property = fc.asyncProperty(anyBytes, fc.array(fc.nat(), { maxLength: 6 }), async (bytes, cuts) => {
    const whole = await exchangeOnce(listener.port, bytes);
    for (const { status } of whole) expect([100, 200, 400]).toContain(status);
    const summary = ({ status, body }: { status: number; body: string }) => `${status} ${body}`;
    const inPieces = bytes === "" ? [] : await exchangeOnce(listener.port, cut(bytes, cuts));
    const final = ({ status }: { status: number }) => status !== 100;
    expect(inPieces.filter(final).map(summary)).toEqual(whole.filter(final).map(summary));
  });
  await fc.assert(property, { numRuns: 400 });
  expect(await exchangeOnce(listener.port, good)).toHaveLength(1);
});

test("any bytes: no connection stays open, however the client ends it", async () => {
  const open = () => readdirSync("/proc/self/fd").length;
  await exchangeOnce(listener.port, good);
  const before = open();
  const starts = [
    "",
    "\r\n",
    "GET /",
    good,
    "BAD\r\n\r\n",
    toRequest("POST /x HTTP/1.1", ["Content-Length: 9"], "abc"),
  ];
  for (let round = 0; round < 20; round++) {
    for (const bytes of [...starts, toRequest("GET /x HTTP/1.1", ["Connection: close"]), good + good]) {
      const client = await openClient(listener.port);
      if (bytes !== "") await client.sendPieces([bytes]);
      if (round % 4 === 0) client.socket.resetAndDestroy();
      else if (round % 4 === 1) client.socket.destroy();
      else {
        client.socket.end();
        await client.ended();
        client.socket.destroy();
      }
    }
  }
  for (let attempt = 0; attempt < 1000 && open() > before; attempt++) await exchangeOnce(listener.port, good);
  expect(open()).toBeLessThanOrEqual(before);
});
