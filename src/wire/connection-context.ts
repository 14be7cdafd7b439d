import type { ConnectionMemoryBudget } from "./connection-memory.ts";
import type { ConnectionPlaces } from "./connection-places.ts";
import type { Handler } from "./request.ts";
import type { RoundRobin } from "./round-robin.ts";
import type { UnsentBudget } from "./unsent-budget.ts";

export interface ConnectionContext {
  readonly handler: Handler;
  readonly roundRobin: RoundRobin;
  readonly memory: ConnectionMemoryBudget;
  readonly places: ConnectionPlaces;
  /** The budget of the kernel's buffers for responses; undefined if the kernel decides. */
  readonly unsent: UnsentBudget | undefined;
  /** Maximum size of a request body, in bytes, unless the handler sets another (`WireRequest.readBody`). */
  readonly maxBodyBytes: number;
  /** Seconds without progress after which a client times out. */
  readonly idleTimeoutSeconds: number;
  /** The listener's clock: seconds since the listener started, counted by its timer. */
  now: number;
  /** Whether the listener is stopping, so that each connection closes after its next response. */
  isStopping: boolean;
}
