// Measures reads per second while other clients write as fast as they can.

import { load, type Request } from "../load.ts";
import type { Setting } from "../measure.ts";
import type { Measured } from "../process.ts";

interface Rate {
  readonly perSecond: number;
  /** Duration that 99 % of the requests did not exceed, in milliseconds. */
  readonly p99: number;
}

export interface UnderWrites {
  /** The reads without writes. */
  readonly quiet: Rate;
  /** The reads during the writes. */
  readonly busy: Rate;
  /** The writes during the reads. */
  readonly writes: Rate;
}

/** Sends `read` over 32 connections, first alone, and then together with `write` over 64 connections. Both loads share a core. */
export async function measureUnderWrites(
  { url }: Measured,
  read: Request,
  write: Request,
  { folder, seconds }: Setting,
): Promise<UnderWrites> {
  await load(url, read, 32, 1, folder);
  const quiet = await load(url, read, 32, seconds, folder);
  const writing = load(url, write, 64, seconds + 2, folder);
  await Bun.sleep(1000);
  const busy = await load(url, read, 32, seconds, folder);
  return { quiet, busy, writes: await writing };
}
