import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Prints everything. Whoever reads may stop early, as `head` does: then the rest is not asked for. */
export async function printAll(text: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(text), process.stdout, { end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
  }
}
