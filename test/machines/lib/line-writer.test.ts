// `LineWriter` (src/lib/logging.ts) writes lines in the background, here to a pipe with room for sixteen 4 KiB blocks that the test reads.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, read as readFrom, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LineWriter } from "../../../src/lib/logging.ts";
import { ticks } from "../../support/time.ts";

let folder: string;
let pipe: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "storefront-lines-"));
  expect(Bun.spawnSync(["mkfifo", join(folder, "pipe")]).success).toBe(true);
  pipe = openSync(join(folder, "pipe"), "r+");
});
afterEach(() => {
  closeSync(pipe);
  rmSync(folder, { recursive: true, force: true });
});

const line = (n: number, length: number) => `${String(n).padStart(length - 1, ".")}\n`;

/** Reads this number of bytes, which were or will be written. */
async function read(bytes: number): Promise<string> {
  const buffer = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; ) {
    at += await new Promise<number>((resolve, reject) =>
      readFrom(pipe, buffer, at, bytes - at, null, (error, count) => (error ? reject(error) : resolve(count))),
    );
  }
  return buffer.toString();
}

describe("a line writer", () => {
  test("stops once the last line is written, even if that waits for the reader", async () => {
    const writer = new LineWriter(pipe);
    const lines = Array.from({ length: 17 }, (_, n) => line(n, 4096));
    for (const one of lines) writer.add(one);
    const begun = performance.now();
    await writer.stop(100);
    // Nobody has read yet, so this took all of its time.
    expect(performance.now() - begun).toBeGreaterThanOrEqual(100);
    const stopped = writer.stop(20_000);
    const start = await read(4096);
    await stopped;
    expect(start + (await read(16 * 4096))).toBe(lines.join(""));
    expect(writer.lostLines).toBe(0);
  });

  test("stops in time if nobody reads", async () => {
    const writer = new LineWriter(pipe);
    for (let n = 0; n < 17; n++) writer.add(line(n, 4096));
    await writer.stop(50);
    // Otherwise, a write that is still in flight could reach the pipe of the next test, which has the same descriptor.
    await read(17 * 4096);
  });

  test("writes lines without a flush, in order", async () => {
    const writer = new LineWriter(pipe);
    for (let n = 0; n < 3; n++) writer.add(line(n, 10));
    expect(await read(30)).toBe([0, 1, 2].map((n) => line(n, 10)).join(""));
  });

  test("drops lines when its buffer is full, and counts them", async () => {
    const writer = new LineWriter(pipe);
    // 256 wait, and up to 17 are in the pipe or on their way to it.
    for (let n = 0; n < 1000; n++) {
      writer.add(line(n, 4096));
      if (n < 17) await ticks();
    }
    const kept = 1000 - writer.lostLines;
    expect(kept).toBeGreaterThanOrEqual(256);
    expect(kept).toBeLessThanOrEqual(256 + 17);
    const stopped = writer.stop(20_000);
    const text = await read(kept * 4096);
    await stopped;
    expect(text).toBe(Array.from({ length: kept }, (_, n) => line(n, 4096)).join(""));
  });
});
