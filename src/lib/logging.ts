// Writes log lines to a file descriptor in the background, and limits lines that clients can cause.

import { write } from "node:fs";

/** Maximum bytes of a line and of a write. If several processes write to one pipe, writes up to this size are not mixed (PIPE_BUF in pipe(7)). */
const maxLineBytes = 4096;
/** Maximum bytes of the lines that wait to be written. */
const maxQueuedBytes = 1024 * 1024;
/** Milliseconds that a line waits for further lines, and that a failed write waits until it is repeated. */
const lineFlushIntervalMs = 100;

/**
 * Never delays the caller, also if a pipe is read slowly or a disk is full: up to 1 MiB of lines wait in memory, and further lines are lost. If the
 * process is killed, the lines of the last tenth of a second are lost.
 */
export class LineWriter {
  readonly #descriptor: number;
  /** Each block has whole lines, together at most `maxLineBytes`. The first block may be the rest of a block that was written in part. */
  readonly #blocks: string[] = [];
  #bytes = 0;
  #lost = 0;
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** The number of lines that were lost because too many bytes waited. */
  get lostLines(): number {
    return this.#lost;
  }

  /** @param line ASCII, at most `maxLineBytes` with its line feed */
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

  /** Writes the lines that wait. Resolves when all are written, or after `milliseconds`. */
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

/** Milliseconds in which a cause is logged at most once. */
const causeIntervalMs = 1000;
/** Maximum causes that are logged per interval. */
const maxCauses = 100;

interface LoggedCause {
  readonly at: number;
  suppressed: number;
}

/**
 * Calls `write`, unless the same cause was logged less than a second ago, or 100 other causes were.
 * @param write gets the number of lines of this cause that were suppressed since it was last logged
 */
export type LogRateLimiter = (cause: string, write: (suppressed: number) => void) => void;

/**
 * Creates a limiter for log lines that clients can cause at will: at most one line per second for each cause, and 100 lines per second in all. So
 * these lines cannot fill the disk or hide other lines.
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
