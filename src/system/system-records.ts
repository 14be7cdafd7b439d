// The records of the system site: sites, API keys, webhooks and operators. Each kind has two forms. `SiteRecord` and the others are the records as
// they are stored: every field is a text, and `""` means none. `Site`, `ApiKey` and `Webhook` are what servers need of them, ready to use.

import type { Scope } from "../model/api-key.ts";
import { hostnameOf } from "../model/hostname.ts";
import type { WebhookRef } from "../model/webhooks.ts";

/** The record of a site. */
export interface SiteRecord {
  readonly ID: number;
  readonly Name: string;
  /** Hostnames in their normal form (model/hostname.ts), separated by spaces. */
  readonly Hostnames: string;
  readonly Default: "" | "yes";
  /** Since when the site is suspended, as an ISO 8601 time; empty if it is not suspended. */
  readonly Suspended: string;
  /** Until when `import-site` or `site sandbox` has reserved the site, as an ISO 8601 time; empty if the site is complete. */
  readonly Importing: string;
  /** ID of the live site whose sandbox it is, in digits; empty for a live site. */
  readonly SandboxOf: string;
  /** Random text that stays the same in every backup and site file. */
  readonly UID: string;
}

/** The record of an API key. */
export interface KeyRecord {
  readonly ID: number;
  /** ID of its site, in digits. */
  readonly Site: string;
  readonly Prefix: string;
  readonly Digest: string;
  readonly Label: string;
  readonly Scope: Scope;
  readonly Rate: string;
  readonly Created: string;
  readonly Expires: string;
  readonly Revoked: string;
  /** Prefixes of the keys that it has replaced by rotation, the latest first, separated by spaces; at most 20. */
  readonly Former: string;
}

/** The record of a webhook. */
export interface WebhookRecord {
  readonly ID: number;
  /** ID of its site, in digits. */
  readonly Site: string;
  readonly URL: string;
  /** Paths of resources, separated by spaces; empty for all. */
  readonly Resources: string;
  readonly Created: string;
  /** Since when the webhook is paused, as an ISO 8601 time; empty if it is not paused. */
  readonly Paused: string;
  readonly Reason: string;
  /** As of a site. The renewal of a sandbox keeps it too. */
  readonly UID: string;
}

/** The record of an operator. */
export interface OperatorRecord {
  readonly ID: number;
  readonly Name: string;
  /** IDs of the sites that the operator may manage, separated by spaces; empty for all. */
  readonly Sites: string;
  /** The role (model/operator-role.ts); empty for `all`. Another program version can have stored another word. */
  readonly Role: string;
  readonly Created: string;
}

/** The records of the system site as of one head, in ID order. */
export interface SystemRecords {
  readonly sites: readonly SiteRecord[];
  readonly keys: readonly KeyRecord[];
  readonly webhooks: readonly WebhookRecord[];
  readonly operators: readonly OperatorRecord[];
  /** The ID for the next new site. */
  readonly nextSiteId: number;
}

/** A site, as requests and deliveries need it. */
export interface Site {
  readonly id: number;
  readonly name: string;
  /** In their normal form. */
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  readonly isSuspended: boolean;
  /** Whether the site is neither suspended nor incomplete. */
  readonly isServed: boolean;
  /** ID of the live site whose sandbox it is; undefined for a live site. */
  readonly sandboxOf: number | undefined;
}

export function toSite({ ID, Name, Hostnames, Default, Suspended, Importing, SandboxOf }: SiteRecord): Site {
  const isSuspended = Suspended !== "";
  return {
    id: ID,
    name: Name,
    hostnames: splitWords(Hostnames).map(hostnameOf),
    isDefault: Default === "yes",
    isSuspended,
    isServed: !isSuspended && Importing === "",
    sandboxOf: SandboxOf === "" ? undefined : Number(SandboxOf),
  };
}

/** An API key, as requests need it. */
export interface ApiKey {
  readonly id: number;
  /** The ID of the key's site. */
  readonly siteId: number;
  readonly prefix: string;
  readonly digest: string;
  readonly scope: Scope;
  /** Requests per second; undefined for the server's default. */
  readonly rate: number | undefined;
  /** When the key expires, in milliseconds since 1970; infinity if never, 0 if it was revoked. */
  readonly endsAt: number;
  /** The prefixes of the keys that it has replaced by rotation, the latest first. */
  readonly formerPrefixes: readonly string[];
  /** The ID of the first of these keys, or its own if it has replaced none. Idempotency keys belong to it, so that they survive a rotation. */
  readonly firstId: number;
}

/** Shared by all keys that have replaced none. */
const noPrefixes: readonly string[] = [];

/** @param replaced the key that it has replaced by rotation, if that is known */
export function toApiKey(
  { ID, Site, Prefix, Digest, Scope, Rate, Expires, Revoked, Former }: KeyRecord,
  replaced?: ApiKey,
): ApiKey {
  // The time of the revocation is that of another machine's clock, so it is not compared with the clock of this machine.
  const expiresAt = Expires === "" ? Number.POSITIVE_INFINITY : Date.parse(Expires);
  const rate = Rate === "" ? undefined : Number(Rate);
  return {
    id: ID,
    siteId: Number(Site),
    prefix: Prefix,
    digest: Digest,
    scope: Scope,
    rate,
    endsAt: Revoked === "" ? expiresAt : 0,
    formerPrefixes: Former === "" ? noPrefixes : splitWords(Former),
    firstId: replaced?.firstId ?? ID,
  };
}

/** A webhook, as deliveries need it. */
export interface Webhook extends WebhookRef {
  readonly url: string;
  /** The names of the resources that it follows. */
  readonly resources: ReadonlySet<string>;
  /** Why it is paused; undefined if it is not. */
  readonly pauseReason: string | undefined;
}

/** @param names the names of all served resources, by path */
export function toWebhook(record: WebhookRecord, names: ReadonlyMap<string, string>): Webhook {
  const { ID, Site, URL: url, Resources, Paused, Reason } = record;
  const paths = Resources === "" ? [...names.keys()] : splitWords(Resources);
  const resources = new Set(paths.flatMap((path) => names.get(path) ?? []));
  return { site: Number(Site), webhook: ID, url, resources, pauseReason: Paused === "" ? undefined : Reason };
}

/** Returns the IDs of the sites that an operator may manage; undefined for all sites. */
export function managedSiteIds({ Sites }: Pick<OperatorRecord, "Sites">): ReadonlySet<number> | undefined {
  return Sites === "" ? undefined : new Set(splitWords(Sites).map(Number));
}

/** Returns the words of a field that separates them by spaces. */
export function splitWords(field: string): string[] {
  return field === "" ? [] : field.split(" ");
}
