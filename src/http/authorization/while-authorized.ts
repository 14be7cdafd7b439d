import { ProblemError } from "../../model/errors.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";
import { type RequestAuthorizer, requireSameSite } from "./authorizer.ts";

interface AuthorizedWork<T> {
  /** @throws OutdatedError if the key, the site or its epoch has changed. Nothing was stored */
  readonly work: (authorized: AuthorizedView) => Promise<T>;
  /** Whether `work` stored something. */
  readonly isStored: (result: T) => boolean;
}

/**
 * Runs `work`, such as a batch or an undo, for an authorized request. Repeats it if the key, the site or its epoch changes in the meantime
 * (`RequestAuthorizer.repeatIfOutdated`), and checks the key again before a response that only reads.
 * @param first the request's current authorization
 * @throws the errors of `work` and of `RequestAuthorizer.reauthorize`
 */
export function whileAuthorized<T>(
  authorizer: RequestAuthorizer,
  context: RequestContext,
  first: AuthorizedView,
  work: AuthorizedWork<T>,
): Promise<T> {
  return authorizer.repeatIfOutdated(context, first, (authorized) => runOnce(authorizer, context, authorized, work));
}

/**
 * If nothing was stored, the key may have been revoked or its sandbox renewed in the meantime, so it's checked again. A transaction has checked the key
 * itself, so its result is always returned.
 * @throws OutdatedError if the key now selects another site
 */
async function runOnce<T>(
  authorizer: RequestAuthorizer,
  context: RequestContext,
  authorized: AuthorizedView,
  { work, isStored }: AuthorizedWork<T>,
): Promise<T> {
  const requireAuthorization = () =>
    authorizer.reauthorize(context, (again) => requireSameSite(again, authorized.siteView.siteId));
  let result: T;
  try {
    result = await work(authorized);
  } catch (error) {
    // After a 503, the commit may have happened. Any other error would claim that nothing was stored.
    if (error instanceof ProblemError && error.code !== "unavailable") await requireAuthorization();
    throw error;
  }
  if (!isStored(result)) await requireAuthorization();
  return result;
}
