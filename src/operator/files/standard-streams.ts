// Reads standard input and writes standard output without losing anything.

import { fstatSync, read, writeSync } from "node:fs";
import { Writable } from "node:stream";
import { promisify } from "node:util";
import { systemErrorCode } from "../../lib/errors-for-log.ts";

/** How often we try to write to a full pipe. That only fails in non-blocking mode, which another program may have set. */
const retryDelayMs = 5;

/** Recognizes `-` and the paths of standard input. */
export function isStandardInput(file: string): boolean {
  return ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].includes(file);
}

/** Recognizes `-` and the paths of standard output. */
export function isStandardOutput(file: string): boolean {
  return ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].includes(file);
}

/** Bytes per read. */
const chunkSize = 256 * 1024;
const readFrom = promisify(read);

/**
 * Reads a redirected file from its current offset, where Bun's `process.stdin` would read it from the start. Doesn't read ahead, so no read is in flight
 * when the caller stops.
 */
export async function* readStandardInput(): AsyncGenerator<Uint8Array> {
  if (!fstatSync(0).isFile()) return yield* process.stdin;
  for (;;) {
    const { bytesRead, buffer } = await readFrom(0, Buffer.allocUnsafe(chunkSize), 0, chunkSize, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Unlike `process.stdout`, this stream only finishes once the kernel has accepted all bytes. */
export function standardOutput(): Writable {
  return new Writable({
    write(chunk: Buffer, _, done) {
      try {
        writeAll(1, chunk);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
}

/** Blocks until everything is written. @throws the operating system's error, such as EPIPE */
export function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      if (systemErrorCode(error) !== "EAGAIN") throw error;
      Bun.sleepSync(retryDelayMs);
    }
  }
}
