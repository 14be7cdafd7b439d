// Checks whether a request's API key is valid for its site, and whether it may write.

import { hashApiKey, isKey } from "../../model/api-key.ts";
import { ProblemError } from "../../model/errors.ts";
import type { ApiKey, Site } from "../../system/system-records.ts";
import type { SystemSiteIndex } from "../../system/system-site-index.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import type { KeyRejection, RequestContext } from "../request-context.ts";
import { sentKey } from "./sent-key.ts";
import { unauthorizedError } from "./unauthorized.ts";

/**
 * Returns the request's key if it's currently valid for `site` or its sandbox. Stores the key in the context, along with the reason for a rejection (for
 * the log) and, for a sandbox key, the sandbox's name.
 * @param site the host's site
 * @param now milliseconds since 1970
 * @throws ProblemError `unauthorized` for a key that is missing, malformed, unknown, revoked or expired, without telling the client which of the last
 *   three; `forbidden` for a key of another site or its sandbox; `site-suspended` if only the sandbox is suspended
 */
export function authenticate(context: RequestContext, site: Site, index: SystemSiteIndex, now: number): ApiKey {
  const sent = sentKey(context);
  const key = sent === null ? undefined : index.findKeyByDigest(cachedKeyDigest(context.request.headers, sent));
  context.key = key;
  if (!key || now >= key.endsAt) {
    context.keyRejection = key ? "expired or revoked" : findKeyRejection(sent);
    throw unauthorizedError(context, site);
  }
  if (key.siteId === site.id) return key;
  const sandbox = index.findSandbox(key.siteId, site.id);
  if (!sandbox) {
    context.keyRejection = "of another site";
    throw new ProblemError("forbidden", "the API key belongs to another site");
  }
  context.sandbox = sandbox.name;
  return key;
}

/**
 * Looks the request's key up without checking it, so it may have expired or been revoked. Returns undefined for an unknown key.
 * @param hasForm `isKey` or `isSandboxKey`; anything else isn't looked up
 */
export function findSentKey(
  context: RequestContext,
  index: SystemSiteIndex,
  hasForm: (sent: string) => boolean,
): ApiKey | undefined {
  const sent = sentKey(context);
  return sent !== null && hasForm(sent)
    ? index.findKeyByDigest(cachedKeyDigest(context.request.headers, sent))
    : undefined;
}

/**
 * Computing a digest takes as long as the rest of the authorization. Most clients repeat their header section, which the wire then parses once and passes
 * as the same object, so we cache the digest by it. The key itself is looked up for every request. We store which key the digest is of, because
 * with a bearer token, the same headers can mean another key at another endpoint.
 */
const digests = new WeakMap<HeaderFields, { readonly key: string; readonly digest: string }>();

function cachedKeyDigest(headers: HeaderFields, key: string): string {
  const known = digests.get(headers);
  if (known?.key === key) return known.digest;
  const digest = hashApiKey(key);
  digests.set(headers, { key, digest });
  return digest;
}

export function requireWriteScope(context: RequestContext, key: ApiKey): void {
  if (key.scope === "write") return;
  context.keyRejection = "read-only";
  throw new ProblemError("forbidden", "this API key is read-only; use one with the scope `write`");
}

function findKeyRejection(sent: string | null): KeyRejection {
  if (sent === null) return "missing";
  return isKey(sent) ? "unknown" : "malformed";
}
