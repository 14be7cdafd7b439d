// What one client or operator can do to a server whose site `large.test` has many records. Each runs on a server that has not loaded it yet.

import { commandStalls } from "./commands.ts";
import { consoleStalls } from "./console.ts";
import type { Contents } from "./databases.ts";
import { followerStalls } from "./following.ts";
import { clientStalls } from "./requests.ts";
import type { Target } from "./target.ts";

export interface Stall {
  readonly name: string;
  /** What the database has: one large site by default. */
  readonly contents?: Contents;
  /** Arguments of `serve`. */
  readonly flags?: readonly string[];
  /** Done before the probes begin. */
  readonly before?: (target: Target) => Promise<unknown>;
  /** The longest wait beyond the noise that it may cause, in milliseconds; 20 by default. */
  readonly goal?: number;
  readonly work: (target: Target) => Promise<unknown>;
}

export const stalls: readonly Stall[] = [
  { name: "nothing, for 3 s", work: () => Bun.sleep(3000) },
  ...clientStalls,
  ...followerStalls,
  ...commandStalls,
  ...consoleStalls,
];
