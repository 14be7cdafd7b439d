// Checks whether a request's API key is valid for its site and its client's address, and whether it has the rights that the request needs.

import { BoundedCache } from "../../lib/bounded-cache.ts";
import { type IpAddress, isWithin, toAddress, unmapped } from "../../lib/networks.ts";
import { endsSoonMs, hashApiKey, isKey } from "../../model/api-key.ts";
import { alternatives, ProblemError } from "../../model/errors.ts";
import type { Right } from "../../model/key-rights.ts";
import type { ApiKey, Site } from "../../system/system-records.ts";
import type { SystemSiteIndex } from "../../system/system-site-index.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import { clientAddress } from "../common/client-network.ts";
import type { KeyRejection, RequestContext } from "../request-context.ts";
import { sentKey } from "./sent-key.ts";
import { unauthorizedError } from "./unauthorized.ts";

/**
 * Returns the request's key if it's currently valid for `site` or its sandbox, and has the rights that the request is known to need. Stores the key in the
 * context, along with the reason for a rejection (for the log) and, for a sandbox key, the sandbox's name.
 * @param site the host's site
 * @param now milliseconds since 1970
 * @param trustProxy as in `AuthorizerOptions`
 * @throws ProblemError `unauthorized` for a key that is missing, malformed, unknown, revoked or expired, without telling the client which of the last
 *   three; `forbidden` for a key that can't be used from the client's address, a key of another site or its sandbox, or one without the rights;
 *   `site-suspended` if only the sandbox is suspended
 */
export function authenticate(
  context: RequestContext,
  site: Site,
  index: SystemSiteIndex,
  now: number,
  trustProxy: boolean,
): ApiKey {
  const sent = sentKey(context);
  const key = sent === null ? undefined : index.findKeyByDigest(cachedKeyDigest(context.request.headers, sent));
  context.key = key;
  if (!key || now >= key.endsAt) {
    context.keyRejection = key ? "expired or revoked" : findKeyRejection(sent);
    throw unauthorizedError(context, site);
  }
  if (key.networks) requireNetwork(context, key.networks, trustProxy);
  if (key.siteId !== site.id) {
    const sandbox = index.findSandbox(key.siteId, site.id);
    if (!sandbox) {
      context.keyRejection = "of another site";
      throw new ProblemError("forbidden", "the API key belongs to another site");
    }
    context.sandbox = sandbox.name;
  }
  if (key.endsAt !== Number.POSITIVE_INFINITY) noteExpiry(context, now);
  requireRights(context, key, context.neededRights);
  return key;
}

/** Clients' addresses, by text. */
const addresses = new BoundedCache(1000, 50, (text): IpAddress | null => {
  const address = toAddress(text);
  return address ? unmapped(address) : null;
});

function requireNetwork(context: RequestContext, networks: NonNullable<ApiKey["networks"]>, trustProxy: boolean): void {
  const text = clientAddress(context.request, trustProxy);
  const address = text === undefined ? null : addresses.get(text);
  if (address && isWithin(address, networks)) return;
  context.keyRejection = "from another network";
  const from = address ? ` ${address}` : "";
  throw new ProblemError(
    "forbidden",
    `this API key can't be used from your address${from}; ask the site's operator to allow it`,
  );
}

/** Puts the key's expiry into the context if it's soon. */
export function noteExpiry(context: RequestContext, now: number): void {
  const { endsAt } = context.key as ApiKey;
  const isSoon = endsAt > now && endsAt <= now + endsSoonMs;
  context.keyExpires = isSoon ? new Date(endsAt).toISOString() : undefined;
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

/**
 * Checks that the key has these rights, now and whenever the request is authorized again. @throws ProblemError `forbidden` that names the first one it lacks
 */
export function requireRights(context: RequestContext, key: ApiKey, needed: readonly Right[]): void {
  context.neededRights = needed;
  for (const right of needed) if (!key.rights.allows(right)) throw missingRightError(context, [right]);
}

/** @param rights the key has none of them, but any one would do */
export function missingRightError(context: RequestContext, rights: readonly Right[]): ProblemError {
  context.keyRejection = "without the right";
  return new ProblemError("forbidden", missingRightDetail(rights));
}

export function missingRightDetail(rights: readonly Right[]): string {
  const shown = alternatives(rights.map((right) => `\`${right}\``));
  return `this API key doesn't have the right ${shown}; use one that has it, or ask the site's operator to add it`;
}

function findKeyRejection(sent: string | null): KeyRejection {
  if (sent === null) return "missing";
  return isKey(sent) ? "unknown" : "malformed";
}
