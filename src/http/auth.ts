import { Refusal } from "../model/errors.ts";
import { hostnameOf } from "../model/hostname.ts";
import { digestOf } from "../model/key.ts";
import type { WireRequest } from "../wire/request.ts";
import type { Directory, Key, Site } from "./directory.ts";
import type { Exchange } from "./exchange.ts";

const names = new Map<string, string>();

/** The request's host in its normal form; empty when it has none (HTTP/1.0). */
export function hostOf({ request, target }: Exchange, trustProxy: boolean): string {
  // The host of an absolute target is the one that counts (RFC 9112 section 3.2.2).
  const own = target.host ?? request.fields.get("host") ?? "";
  const forwarded = trustProxy ? request.fields.get("x-forwarded-host")?.split(",").at(-1)?.trim() : undefined;
  const host = forwarded || own;
  const known = names.get(host);
  if (known !== undefined) return known;
  const name = hostnameOf(host);
  if (names.size >= 1024) names.clear();
  names.set(host, name);
  return name;
}

/** The refusal of a host that no site answers for (RFC 9110 section 15.5.20). */
export function wrongSite(host: string): Refusal {
  return new Refusal(
    "wrong-site",
    host
      ? `no website answers under the host \`${host.slice(0, 255)}\``
      : "the request names no host, and there is no default website",
  );
}

/**
 * The key that the request carries, if it opens `site` now.
 * @throws Refusal `unauthorized` for a key that is missing, malformed, unknown, revoked or expired, which are not told
 *   apart; `forbidden` for the key of another site
 */
export function authenticate(request: WireRequest, site: Site, directory: Directory, now: number): Key {
  const sent = request.fields.get("x-api-auth");
  const key = sent === null ? undefined : directory.keyOf(digestOf(sent));
  if (!key || now >= key.endsAt) throw unauthorized(site);
  if (key.site !== site.id) throw new Refusal("forbidden", "the API key belongs to another website");
  return key;
}

/** @throws Refusal `forbidden` unless `key` may write */
export function requireWrite(key: Key): void {
  if (key.scope !== "write") throw new Refusal("forbidden", "the API key may only read: it lacks the scope `write`");
}

function unauthorized(site: Site): Refusal {
  return new Refusal("unauthorized", "send a valid API key of this website in the header X-API-AUTH", {
    headers: { "WWW-Authenticate": `ApiKey realm="${site.name}", header="X-API-AUTH"` },
  });
}
