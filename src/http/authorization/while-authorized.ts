// Runs a batch request or an undo with its authorization: again if the key, the site or its epoch changes meanwhile, and checked again before a response
// that only reads.

import { ProblemError } from "../../model/errors.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";
import { requireWriteScope } from "./authenticate.ts";
import { type RequestAuthorizer, requireSameSite } from "./authorizer.ts";

interface AuthorizedWork<T> {
  /** @throws OutdatedError if the key, the site or its epoch has changed. Nothing was stored */
  readonly work: (authorized: AuthorizedView) => Promise<T>;
  /** Whether `work` has stored something. */
  readonly isStored: (result: T) => boolean;
}

/**
 * Runs `work` for a key that may write, and returns its result. Repeats it after an OutdatedError (`RequestAuthorizer.repeatIfOutdated`).
 * @param first the present authorization of the request
 * @throws the errors of `work` and of `RequestAuthorizer.reauthorize`
 */
export function whileAuthorized<T>(
  authorizer: RequestAuthorizer,
  context: RequestContext,
  first: AuthorizedView,
  work: AuthorizedWork<T>,
): Promise<T> {
  return authorizer.repeatIfOutdated(context, first, (authorized) => {
    requireWriteScope(context, authorized.key);
    return runOnce(authorizer, context, authorized, work);
  });
}

/**
 * If the response only reads, because nothing was stored now, authorizes again: the key may have been revoked, or its sandbox renewed, meanwhile. The
 * result of a transaction is always returned, because the transaction has checked the key.
 * @throws OutdatedError if the key selects another site now
 */
async function runOnce<T>(
  authorizer: RequestAuthorizer,
  context: RequestContext,
  authorized: AuthorizedView,
  { work, isStored }: AuthorizedWork<T>,
): Promise<T> {
  const requireAuthorization = () =>
    authorizer.reauthorize(context, (again) => {
      requireSameSite(again, authorized.siteView.siteId);
      requireWriteScope(context, again.key);
    });
  let result: T;
  try {
    result = await work(authorized);
  } catch (error) {
    // The outcome of a commit can be unknown. Another error than 503 would say that nothing was stored.
    if (error instanceof ProblemError && error.code !== "unavailable") await requireAuthorization();
    throw error;
  }
  if (!isStored(result)) await requireAuthorization();
  return result;
}
