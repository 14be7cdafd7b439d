// The stalls: expensive requests and commands on the site `large.test`, which has many records. Each is measured on a new server, which has not
// loaded that site yet.

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
  /** Contents of the database; by default one large site. */
  readonly contents?: Contents;
  /** Arguments of `serve`. */
  readonly flags?: readonly string[];
  /** Preparation before the measurement. */
  readonly before?: (target: Target) => Promise<unknown>;
  /** The requests of the other client: look-ups in a small site, or writes to a record of the large site. By default look-ups. */
  readonly probe?: "look-ups" | "writes";
  /** Maximum wait that it may cause, above the noise, in milliseconds; 20 by default. */
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
