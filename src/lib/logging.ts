// Writes log lines to a file descriptor in the background, and rate-limits the ones that clients can cause.

import { write } from "node:fs";

/** Per line and per write. If several processes write to a pipe, writes up to this size don't get mixed up (PIPE_BUF in pipe(7)). */
const maxLineBytes = 4096;
/** Lines waiting to be written. */
const maxQueuedBytes = 1024 * 1024;
/** How long a line waits for more lines, and a failed write for another try. */
const lineFlushIntervalMs = 100;

/**
 * Never delays the caller, even if a pipe's reader is slow or a disk is full: up to 1 MiB of lines wait in memory, and any more are lost. If the process is
 * killed, the last tenth of a second is lost.
 */
export class LineWriter {
  readonly #descriptor: number;
  /** Each block has whole lines and at most `maxLineBytes`. The first may be the rest of a partly written one. */
  readonly #blocks: string[] = [];
  #bytes = 0;
  #lost = 0;
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** Lines lost because too many were waiting. */
  get lostLines(): number {
    return this.#lost;
  }

  /** @param line ASCII, at most `maxLineBytes` including its line feed */
  add(line: string): void {
    if (this.#bytes + line.length > maxQueuedBytes) {
      this.#lost++;
      return;
    }
    this.#bytes += line.length;
    const last = this.#blocks.length - 1;
    const block = this.#blocks[last];
    if (block !== undefined && block.length + line.length <= maxLineBytes) this.#blocks[last] = block + line;
    else this.#blocks.push(line);
    if (this.#blocks.length > 1) this.#write();
    else this.#writeLater();
  }

  /** Writes the waiting lines. Resolves when that's done, or after `milliseconds`. */
  async stop(milliseconds: number): Promise<void> {
    const deadline = performance.now() + milliseconds;
    while (this.#bytes > 0 && performance.now() < deadline) {
      this.#write();
      await Bun.sleep(5);
    }
  }

  #writeLater(): void {
    this.#timer ??= setTimeout(() => this.#write(), lineFlushIntervalMs).unref();
  }

  #write(): void {
    const [block] = this.#blocks;
    if (block === undefined || this.#isWriting) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#blocks.shift();
    this.#isWriting = true;
    write(this.#descriptor, block, null, "latin1", (error, written) => this.#onWritten(block, error ? 0 : written));
  }

  #onWritten(block: string, written: number): void {
    this.#isWriting = false;
    this.#bytes -= written;
    if (written < block.length) this.#blocks.unshift(block.slice(written));
    if (written > 0 && this.#blocks.length > 1) this.#write();
    else if (this.#blocks.length > 0) this.#writeLater();
  }
}

/** A cause is logged at most once in this time. */
const causeIntervalMs = 1000;
/** Different causes logged per interval. */
const maxCauses = 100;

interface LoggedCause {
  readonly at: number;
  suppressed: number;
}

/**
 * Calls `write` unless the same cause, or 100 others, were logged less than a second ago.
 * @param write gets the number of lines suppressed for this cause since it was last logged
 */
export type LogRateLimiter = (cause: string, write: (suppressed: number) => void) => void;

/**
 * Limits log lines that clients can cause at will to one per second and cause, and 100 per second in all, so that they can't fill the disk or bury other
 * lines.
 * @param now returns milliseconds since 1970
 */
export function createLogRateLimiter(now: () => number): LogRateLimiter {
  const logged = new Map<string, LoggedCause>();
  return (cause, write) => {
    const last = logged.get(cause);
    const at = now();
    if (last && Math.abs(at - last.at) < causeIntervalMs) {
      last.suppressed++;
      return;
    }
    if (!last && logged.size >= maxCauses)
      for (const [old, logging] of logged) if (Math.abs(at - logging.at) >= causeIntervalMs) logged.delete(old);
    if (!last && logged.size >= maxCauses) return;
    logged.set(cause, { at, suppressed: 0 });
    write(last?.suppressed ?? 0);
  };
}
