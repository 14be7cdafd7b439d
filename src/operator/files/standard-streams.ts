// Standard input and output: their file names, and reading and writing without loss.

import { fstatSync, read, writeSync } from "node:fs";
import { Writable } from "node:stream";
import { promisify } from "node:util";
import { systemErrorCode } from "../../lib/errors-for-log.ts";

/** Milliseconds between attempts to write to a full pipe. A write fails then only in non-blocking mode, which another program can have set. */
const retryDelayMs = 5;

/** Whether `file` names standard input: `-` or its path in the file system. */
export function isStandardInput(file: string): boolean {
  return ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].includes(file);
}

/** Whether `file` names standard output: `-` or its path in the file system. */
export function isStandardOutput(file: string): boolean {
  return ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].includes(file);
}

/** Bytes that one read of a file returns at most. */
const chunkSize = 256 * 1024;
const readFrom = promisify(read);

/**
 * Yields the bytes of standard input. A file is read from its present offset; `process.stdin` of Bun would read it from its beginning. Nothing of a file is read
 * ahead, so that no read is in flight when the caller stops.
 */
export async function* readStandardInput(): AsyncGenerator<Uint8Array> {
  if (!fstatSync(0).isFile()) return yield* process.stdin;
  for (;;) {
    const { bytesRead, buffer } = await readFrom(0, Buffer.allocUnsafe(chunkSize), 0, chunkSize, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Returns standard output as a stream. Unlike `process.stdout`, it finishes only after the kernel has accepted all bytes. */
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

/** Writes all of `bytes` to a file descriptor, and blocks until then. @throws the error of the operating system, such as EPIPE */
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
