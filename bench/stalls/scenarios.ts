// The stalls: expensive requests and commands on the site `large.test`, which has many records. Each is measured on a new server that hasn't loaded that site
// yet.

import { batchStalls, writersGoal } from "./batches.ts";
import { commandStalls } from "./commands.ts";
import { consoleStalls } from "./console.ts";
import type { Contents } from "./databases.ts";
import { followerStalls } from "./following.ts";
import { clientStalls } from "./requests.ts";
import { slowClientStalls } from "./slow-clients.ts";
import type { Target } from "./target.ts";

export interface Stall {
  readonly name: string;
  /** Default: one large site. */
  readonly contents?: Contents;
  /** Arguments for `serve`. */
  readonly flags?: readonly string[];
  /** Runs before the measurement. */
  readonly before?: (target: Target) => Promise<unknown>;
  /** What the other client does: look-ups in a small site (the default), or writes to a record in the large one. */
  readonly probe?: "look-ups" | "writes";
  /** How long it may make others wait beyond the noise, in milliseconds. Default: 20. */
  readonly goal?: number;
  readonly work: (target: Target) => Promise<unknown>;
}

export const stalls: readonly Stall[] = [
  { name: "nothing, for 3 s", work: () => Bun.sleep(3000) },
  { name: "nothing, for 3 s: other writers", probe: "writes", goal: writersGoal, work: () => Bun.sleep(3000) },
  ...clientStalls,
  ...batchStalls,
  ...followerStalls,
  ...slowClientStalls,
  ...commandStalls,
  ...consoleStalls,
];
