// A new response's first write, and the memory for the rest until the client reads it.

import { expect, test } from "bun:test";
import type { Socket } from "bun";
import { joinWithHeadroom } from "../../src/lib/bytes.ts";
import { nextImmediate } from "../../src/lib/yielding.ts";
import { ConnectionMemoryBudget, MemoryShare } from "../../src/wire/connection-memory.ts";
import { encodeResponse } from "../../src/wire/encode-response.ts";
import type { ResponseBody } from "../../src/wire/response.ts";
import { Output } from "../../src/wire/streams.ts";

const persistent = { omitsBody: false, connection: undefined };
const send = (output: Output, body: ResponseBody) =>
  output.send(encodeResponse({ status: 200, headers: [], body }, persistent));

/** Opens the output of a connection whose kernel buffer accepts `space` more bytes. */
function openOutput(memory: ConnectionMemoryBudget, space: number) {
  const written: Buffer[] = [];
  const write = (bytes: Uint8Array, start: number, length: number) => {
    const accepted = Math.min(length, space);
    space -= accepted;
    written.push(Buffer.from(bytes.subarray(start, start + accepted)));
    return accepted;
  };
  const output = new Output({ write } as unknown as Socket<unknown>, new MemoryShare(memory, () => {}), undefined);
  const accept = () => {
    space = Number.POSITIVE_INFINITY;
    output.unblock();
    while (output.canFlush) output.flush();
  };
  return { output, accept, written: () => Buffer.concat(written) };
}

const unlimited = () => new ConnectionMemoryBudget(Number.POSITIVE_INFINITY, () => {});
const large = joinWithHeadroom([Buffer.alloc(1024 * 1024, "l")]);

test("first writes: hundreds of large responses in a tick only start, small ones are complete", async () => {
  const memory = unlimited();
  await nextImmediate();
  const outputs = Array.from({ length: 300 }, () => openOutput(memory, Number.POSITIVE_INFINITY));
  for (const { output } of outputs) send(output, large);
  const bytes = outputs.reduce((sum, { written }) => sum + written().length, 0);
  expect(bytes).toBeLessThan(2 * 1024 * 1024 + 300 * 16 * 1024);
  const small = openOutput(memory, Number.POSITIVE_INFINITY);
  send(small.output, "s".repeat(10_000));
  expect(small.output.isEmpty).toBe(true);
  for (const { output, accept, written } of outputs) {
    expect(output.canFlush).toBe(true);
    accept();
    expect(
      written()
        .subarray(-large.memory.length + large.start)
        .equals(large.memory.subarray(large.start)),
    ).toBe(true);
  }
  await nextImmediate();
  const next = openOutput(memory, Number.POSITIVE_INFINITY);
  send(next.output, large);
  expect(next.written().length).toBe(512 * 1024);
});

test("unsent body: in memory once for many clients, even if the kernel takes none of it", () => {
  const memory = unlimited();
  const outputs = Array.from({ length: 20 }, () => openOutput(memory, 0));
  for (const { output } of outputs) send(output, large);
  expect(memory.bytes).toBeLessThan(large.memory.length + 20 * 16 * 1024);
  for (const { accept, written } of outputs) {
    accept();
    const text = written().toString();
    expect(text).toStartWith("HTTP/1.1 200 OK\r\n");
    expect(text).toEndWith(`\r\n\r\n${"l".repeat(1024 * 1024)}`);
  }
  expect(memory.bytes).toBe(0);
});
