// Responses larger than the kernel's send buffer, and clients that don't read them.

import { afterAll, expect, test } from "bun:test";
import { joinWithHeadroom } from "../../src/lib/bytes.ts";
import { openClient, toRequest } from "../support/wire/client.ts";
import { startListener, text } from "../support/wire/listener.ts";

const listener = startListener(({ target }) => {
  const [, kind, letter = "", size] = target.split("/");
  if (kind === "pieces") return { status: 200, headers: [], body: pieces };
  if (kind === "headroom") return { status: 200, headers: [], body: headroom };
  return text(letter.repeat(Number(size)));
});
afterAll(() => listener.stop(0));

/** 12 MiB without repetition. */
const pieces = Array.from({ length: 96 }, (_, piece) => {
  const numbers = new Uint32Array(32 * 1024);
  for (let index = 0; index < numbers.length; index++) numbers[index] = piece * numbers.length + index;
  return new Uint8Array(numbers.buffer);
});

const headroom = joinWithHeadroom(pieces);

test.each(["pieces", "headroom"])("a client that reads with pauses gets every byte of %s", async (kind) => {
  const client = await openClient(listener.port);
  const other = await openClient(listener.port);
  let left = 0;
  client.socket.on("data", (part: Buffer) => {
    left -= part.length;
    if (left < 0) client.socket.pause();
  });
  client.send(toRequest(`GET /${kind} HTTP/1.1`) + toRequest("GET /text/n/1 HTTP/1.1"));
  for (let count = 1; count <= 60; count++) {
    left = 200_000;
    client.socket.resume();
    // The header section of this response is written into the same headroom.
    if (count === 30) await (await openClient(listener.port)).send(toRequest(`GET /${kind} HTTP/1.1`));
    other.send(toRequest("GET /text/o/60000 HTTP/1.1"));
    expect((await other.responses(count))[count - 1]?.body).toBe("o".repeat(60_000));
  }
  left = Number.POSITIVE_INFINITY;
  client.socket.resume();
  const [list, next] = await client.responses(2);
  expect(Buffer.from(list?.body ?? "", "latin1").equals(Buffer.concat(pieces))).toBe(true);
  expect(next?.body).toBe("n");
  client.socket.destroy();
  other.socket.destroy();
});

test("large response: a client that disconnects midway doesn't affect others", async () => {
  const other = await openClient(listener.port);
  for (let count = 1; count <= 20; count++) {
    const client = await openClient(listener.port);
    client.send(toRequest("GET /pieces HTTP/1.1"));
    await client.until((received) => received !== "");
    if (count % 2) client.socket.resetAndDestroy();
    else client.socket.destroy();
    other.send(toRequest("GET /text/o/1 HTTP/1.1"));
    await other.responses(count);
  }
  other.socket.destroy();
});

test("large response: a late reader gets its own bytes and no one else's", async () => {
  const slow = await openClient(listener.port);
  slow.socket.pause();
  const count = 300;
  slow.send(toRequest("GET /text/a/50000 HTTP/1.1").repeat(count));
  const other = await openClient(listener.port);
  for (let index = 1; index <= 20; index++) {
    other.send(toRequest("GET /text/b/60000 HTTP/1.1"));
    expect(await other.responses(index)).toHaveLength(index);
  }
  slow.socket.resume();
  const responses = await slow.responses(count);
  expect(responses.every(({ body }) => body === "a".repeat(50_000))).toBe(true);
  slow.socket.destroy();
  other.socket.destroy();
});
