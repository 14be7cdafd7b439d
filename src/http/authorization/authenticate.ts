// Checks the API key of a request: whether it is valid for the site of the request, and whether it may write.

import { hashApiKey, isKey } from "../../model/api-key.ts";
import { ProblemError } from "../../model/errors.ts";
import type { ApiKey, Site } from "../../system/system-records.ts";
import type { SystemSiteIndex } from "../../system/system-site-index.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import type { KeyRejection, RequestContext } from "../request-context.ts";
import { sentKey } from "./sent-key.ts";
import { unauthorizedError } from "./unauthorized.ts";

/**
 * Returns the request's key if it is valid for `site` or its sandbox now. Sets in the request context the key, and the reason of a rejection for the
 * log; with the key of a sandbox, also the name of the sandbox.
 * @param site the site of the host
 * @param now milliseconds since 1970
 * @throws ProblemError `unauthorized` for a key that is missing, malformed, unknown, revoked or expired, without telling the client which of the last
 *   three; `forbidden` for the key of another site, also of the sandbox of another site; `site-suspended` if only the sandbox is suspended
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
 * Returns the key of a request; undefined for an unknown key. Checks nothing else: the key may have expired or been revoked.
 * @param hasForm `isKey` or `isSandboxKey`: a key of another form isn't even looked up
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
 * The last key of each header section, and its digest. Most clients repeat their header section; the wire parses it once and passes the same object
 * again. Computing a digest takes as long as the rest of the authorization. Only the digest is cached: the key is looked up for each request. A header
 * section with a bearer token can have another key at another endpoint.
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
  throw new ProblemError("forbidden", "the API key may only read: it lacks the scope `write`");
}

function findKeyRejection(sent: string | null): KeyRejection {
  if (sent === null) return "missing";
  return isKey(sent) ? "unknown" : "malformed";
}
