// Standard input and output: under the names of files, and written to.

import { writeSync } from "node:fs";
import { Writable } from "node:stream";

/** Milliseconds to wait for a pipe that is full and does not wait by itself, as one that is shared with another program. */
const retryDelay = 5;

export function isStandardInput(file: string): boolean {
  return ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].includes(file);
}

export function isStandardOutput(file: string): boolean {
  return ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].includes(file);
}

/** Standard output. Unlike `process.stdout` it is done only when the system has taken everything. */
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

/** Writes all of `bytes` before it returns. @throws the system's error, such as EPIPE */
export function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Bun.sleepSync(retryDelay);
    }
  }
}
