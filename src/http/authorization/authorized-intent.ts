import type { Intent } from "../../model/change.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";

/** What an intent gets from its request's authorization. */
export type AuthorizedIntent = Pick<Intent, "site" | "actor" | "at" | "ifSystemEpoch" | "authorizedBy">;

/**
 * The transaction checks this again (store/writes/write-authorization.ts).
 * @param at the time of the write, in milliseconds since 1970 (UTC)
 */
export function authorizedIntent(
  { site }: Pick<RequestContext, "site">,
  { key, systemHead }: Pick<AuthorizedView, "key" | "systemHead">,
  at: number,
): AuthorizedIntent {
  const { epoch, revision, timeline } = systemHead;
  // For a sandbox, the write also depends on the host's site.
  const hostSite = site?.id === key.siteId ? undefined : site?.id;
  return {
    site: key.siteId,
    actor: key.prefix,
    at,
    ifSystemEpoch: epoch,
    authorizedBy: { keyId: key.id, hostSite, revision, timeline },
  };
}
