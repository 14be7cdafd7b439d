// Authorizes a batch request or an undo again before its response.

import { ProblemError } from "../../model/errors.ts";
import { requireWriteScope } from "../authorization/authenticate.ts";
import { type RequestAuthorizer, requireSameSite } from "../authorization/authorizer.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";

/**
 * Runs `work` and returns its result. If the response only reads, because nothing was stored now, authorizes again: the key may have been revoked, or
 * its sandbox renewed, meanwhile. The result of a transaction is always returned, because the transaction has checked the key.
 * @param isStored whether `work` has stored something
 * @throws OutdatedError if the key selects another site now; the errors of `work` and of `RequestAuthorizer.reauthorize`
 */
export async function runAuthorized<T>(
  authorizer: RequestAuthorizer,
  context: RequestContext,
  { siteView: { siteId } }: Pick<AuthorizedView, "siteView">,
  { work, isStored }: { readonly work: () => Promise<T>; readonly isStored: (result: T) => boolean },
): Promise<T> {
  const requireAuthorization = () =>
    authorizer.reauthorize(context, (again) => {
      requireSameSite(again, siteId);
      requireWriteScope(context, again.key);
    });
  let result: T;
  try {
    result = await work();
  } catch (error) {
    // The outcome of a commit can be unknown. Another error than 503 would say that nothing was stored.
    if (error instanceof ProblemError && error.code !== "unavailable") await requireAuthorization();
    throw error;
  }
  if (!isStored(result)) await requireAuthorization();
  return result;
}
