// The response that was stored for the idempotency key of an earlier batch request or undo.

import { randomText } from "../../lib/text.ts";
import type { Intent } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, StoredBatch } from "../../model/engine.ts";
import type { WriteQueue } from "../../store/writes/write-queue.ts";
import type { AuthorizedIntent } from "../authorization/authorized-intent.ts";
import { idempotencyKeyReusedError } from "../common/parameters.ts";

/**
 * Returns the stored response that a transaction has found for its idempotency key; undefined if it has found none.
 * @throws ProblemError `idempotency-key-reused`
 */
export function storedResponseIn(result: AtomicCommitResult): StoredBatch | undefined {
  if (result.kind === "idempotency-key-reused") throw idempotencyKeyReusedError();
  return result.kind === "replayed" ? result.stored : undefined;
}

/**
 * Looks for the stored response, as `storedResponseIn` does. Stores nothing.
 * @param base the authorization of the request
 * @param resource the name of any resource
 */
export async function findStoredResponse(
  writeQueue: Pick<WriteQueue, "commitAtomically">,
  base: AuthorizedIntent,
  resource: string,
  idempotency: AtomicCommitOptions["idempotency"],
): Promise<StoredBatch | undefined> {
  // No record has one of no versions, so this intent is rejected in every state of the site.
  const never = { resource, operation: "delete", id: 1, valuesJson: "{}", ifVersion: [], isOptional: false } as const;
  const rejected: Intent = { ...base, ...never };
  const options = { run: { id: randomText(8), size: 1 }, idempotency };
  return storedResponseIn(await writeQueue.commitAtomically(base.site, [[rejected]], () => {}, options));
}
