// Writes lines to a file descriptor in the background.

import { write } from "node:fs";

/** Bytes written at once. A pipe accepts as many from each of several processes without mixing them (PIPE_BUF in pipe(7)). */
const maxLineBytes = 4096;
/** Bytes that may wait. */
const maxWaiting = 1024 * 1024;
/** Milliseconds that a line waits for others, and after which a failed write is tried again. */
const lineFlushIntervalMs = 100;

/**
 * A file or pipe that is read slowly, or that is full, never delays the caller: up to 1 MiB of lines waits, and further lines are lost.
 * The lines of the last tenth of a second are lost when the process is killed.
 */
export class LineWriter {
  readonly #descriptor: number;
  /** Whole lines, up to `maxLineBytes` together; the first may be the rest of what was written in part. */
  readonly #blocks: string[] = [];
  #bytes = 0;
  #lost = 0;
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** How many lines were lost. */
  get lost(): number {
    return this.#lost;
  }

  /** @param line ASCII, at most `maxLineBytes` with its line feed */
  add(line: string): void {
    if (this.#bytes + line.length > maxWaiting) {
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

  /** Writes what waits, for at most `milliseconds`. */
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
    write(this.#descriptor, block, null, "latin1", (error, written) => this.#noteWritten(block, error ? 0 : written));
  }

  #noteWritten(block: string, written: number): void {
    this.#isWriting = false;
    this.#bytes -= written;
    if (written < block.length) this.#blocks.unshift(block.slice(written));
    if (written > 0 && this.#blocks.length > 1) this.#write();
    else if (this.#blocks.length > 0) this.#writeLater();
  }
}

/** Milliseconds in which a cause is logged at most once. */
const causeIntervalMs = 1000;
const maxCauses = 100;

interface LoggedCause {
  readonly at: number;
  suppressed: number;
}

/**
 * Calls `write`, unless the same cause was logged less than a second ago.
 * @param write receives how often it was not called for this cause since the last time
 */
export type LogLimit = (cause: string, write: (suppressed: number) => void) => void;

/**
 * Limits log lines that clients can cause as often as they like to one per second and cause, and to 100 per second, so that they neither
 * fill the disk nor hide other lines.
 * @param now milliseconds since 1970
 */
export function createLogLimit(now: () => number): LogLimit {
  const logged = new Map<string, LoggedCause>();
  return (cause, write) => {
    const last = logged.get(cause);
    const at = now();
    if (last && Math.abs(at - last.at) < causeIntervalMs) {
      last.suppressed++;
      return;
    }
    if (!last && logged.size >= maxCauses) forgetOld(logged, at);
    if (!last && logged.size >= maxCauses) return;
    logged.set(cause, { at, suppressed: 0 });
    write(last?.suppressed ?? 0);
  };
}

function forgetOld(logged: Map<string, LoggedCause>, now: number): void {
  for (const [cause, { at }] of logged) if (Math.abs(now - at) >= causeIntervalMs) logged.delete(cause);
}
