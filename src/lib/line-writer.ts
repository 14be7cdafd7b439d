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
