// The part of an intent that comes from the authorization of its request.

import type { Intent } from "../../model/change.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";

/** The members of an intent about its authorization: the site, the actor, the key, and the head of the system site at the check. */
export type AuthorizedIntent = Pick<Intent, "site" | "actor" | "at" | "ifSystemEpoch" | "authorizedBy">;

/**
 * Returns these members for the writes of an authorized request. The transaction checks them again (store/writes/write-authorization.ts).
 * @param at the time of the write, in milliseconds since 1970 (UTC)
 */
export function authorizedIntent(
  { site }: Pick<RequestContext, "site">,
  { key, systemHead }: Pick<AuthorizedView, "key" | "systemHead">,
  at: number,
): AuthorizedIntent {
  const { epoch, revision, timeline } = systemHead;
  // If the key has selected a sandbox, the site of the host is another site, which also authorizes the write.
  const hostSite = site?.id === key.siteId ? undefined : site?.id;
  return {
    site: key.siteId,
    actor: key.prefix,
    at,
    ifSystemEpoch: epoch,
    authorizedBy: { keyId: key.id, hostSite, revision, timeline },
  };
}
