// Answers that are larger than what the system takes at once, and clients that do not read them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Listener } from "../src/wire/listen.ts";
import { openClient, toRequest } from "./support/wire-client.ts";
import { startListener, text } from "./support/wire-listener.ts";

let listener: Listener;
beforeAll(() => {
  listener = startListener(({ target }) => {
    const [, kind, letter = "", size] = target.split("/");
    if (kind === "pieces") return { status: 200, headers: {}, body: pieces };
    return text(letter.repeat(Number(size)));
  });
});
afterAll(() => listener.stop(0));

/** 12 MiB in which every place is told from every other. */
const pieces = Array.from({ length: 96 }, (_, piece) => {
  const numbers = new Uint32Array(32 * 1024);
  for (let index = 0; index < numbers.length; index++) numbers[index] = piece * numbers.length + index;
  return new Uint8Array(numbers.buffer);
});

test("a client that reads late gets its own answers, not bytes of those that others got meanwhile", async () => {
  const slow = await openClient(listener.port);
  slow.socket.pause();
  const count = 300;
  slow.send(toRequest("GET /text/a/50000 HTTP/1.1").repeat(count));
  const other = await openClient(listener.port);
  for (let index = 1; index <= 20; index++) {
    other.send(toRequest("GET /text/b/60000 HTTP/1.1"));
    expect(await other.answers(index)).toHaveLength(index);
  }
  slow.socket.resume();
  const answers = await slow.answers(count);
  expect(answers.every(({ body }) => body === "a".repeat(50_000))).toBe(true);
  slow.socket.destroy();
  other.socket.destroy();
});
