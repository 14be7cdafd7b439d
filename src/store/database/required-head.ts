import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";

/** In the cause of the error thrown by `requireHeadAtLeast`. */
export const storeBehindCode = "STORE_BEHIND";

/**
 * Checks that a database has reached a head that this process has seen before. A primary that was replaced may be behind. Heads of different epochs
 * can't be compared, so they pass.
 * @throws ProblemError `unavailable`
 */
export function requireHeadAtLeast(found: Head, required: Head | undefined): void {
  if (required === undefined || found.epoch !== required.epoch || found.revision >= required.revision) return;
  const detail = `the database is behind: a site is at revision ${found.revision}, but was at ${required.revision} before; try again`;
  throw new ProblemError("unavailable", detail, { retryAfterSeconds: 1, cause: { code: storeBehindCode } });
}
