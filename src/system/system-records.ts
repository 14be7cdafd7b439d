// The system site's records: sites, API keys, webhooks and operators. Most have two forms. `SiteRecord`, `KeyRecord` and so on are stored records, where
// every field is a string and `""` means none. `Site`, `ApiKey` and `Webhook` are what servers need from them, ready to use.

import { type IpNetwork, toNetwork } from "../lib/networks.ts";
import { hostnameOf } from "../model/hostname.ts";
import { type KeyRights, toKeyRights } from "../model/key-rights.ts";
import type { WebhookRef } from "../model/webhooks.ts";

export interface SiteRecord {
  readonly ID: number;
  readonly Name: string;
  /** In normal form (model/hostname.ts), separated by spaces. */
  readonly Hostnames: string;
  readonly Default: "" | "yes";
  /** When the site was suspended (ISO 8601); empty if it isn't. */
  readonly Suspended: string;
  /** Until when `import-site` or `site sandbox` has reserved the site (ISO 8601); empty if it's complete. */
  readonly Importing: string;
  /** A sandbox's live site, by ID in digits; empty for a live site. */
  readonly SandboxOf: string;
  /** `no` if API keys can't manage its webhooks. */
  readonly KeyWebhooks: "" | "no";
  /** Random, and the same in every backup and site file. */
  readonly UID: string;
}

export interface KeyRecord {
  readonly ID: number;
  /** Its site's ID in digits. */
  readonly Site: string;
  readonly Prefix: string;
  readonly Digest: string;
  readonly Label: string;
  /** See model/key-rights.ts. */
  readonly Scope: string;
  /** In CIDR notation, separated by spaces; empty for all. */
  readonly Networks: string;
  readonly Rate: string;
  readonly Created: string;
  readonly Expires: string;
  readonly Revoked: string;
  /** Prefixes of up to 20 keys that it has replaced by rotation, latest first, separated by spaces. */
  readonly Former: string;
}

export interface WebhookRecord {
  readonly ID: number;
  /** Its site's ID in digits. */
  readonly Site: string;
  readonly URL: string;
  /** Resource paths, separated by spaces; empty for all. */
  readonly Resources: string;
  readonly Created: string;
  /** When the webhook was paused (ISO 8601); empty if it isn't. */
  readonly Paused: string;
  readonly Reason: string;
  /** An actor, as in the journal; empty if it isn't paused, or nobody in particular did it. */
  readonly PausedBy: string;
  /** Prefix of the API key that made it; empty if an operator did. */
  readonly Key: string;
  /** Like a site's. Refreshing a sandbox keeps it too. */
  readonly UID: string;
}

export interface OperatorRecord {
  readonly ID: number;
  readonly Name: string;
  /** IDs of the sites the operator can manage, separated by spaces; empty for all. */
  readonly Sites: string;
  /** See model/operator-role.ts; empty for `admin`. Another version of the program may have stored another word. */
  readonly Role: string;
  /** For single sign-on: the provider's issuer and, after a space, its ID for the person; empty if they sign in with links. */
  readonly Subject: string;
  readonly Created: string;
}

/** The latest of an operator's sign-ins, or of all other events (operator/journal/events.ts). */
export interface EventRecord {
  readonly ID: number;
  /** ISO 8601. */
  readonly At: string;
}

/** As of one head, by ID. */
export interface SystemRecords {
  readonly sites: readonly SiteRecord[];
  readonly keys: readonly KeyRecord[];
  readonly webhooks: readonly WebhookRecord[];
  readonly operators: readonly OperatorRecord[];
  readonly events: readonly EventRecord[];
  /** The ID that the next site will get. */
  readonly nextSiteId: number;
}

/** What requests and deliveries need of a site. */
export interface Site {
  readonly id: number;
  readonly name: string;
  /** In normal form. */
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  readonly isSuspended: boolean;
  /** Neither suspended nor incomplete. */
  readonly isServed: boolean;
  /** Whether API keys with the right can manage its webhooks and its sandbox's. */
  readonly allowsWebhooksByKey: boolean;
  /** A sandbox's live site, by ID; undefined for a live site. */
  readonly sandboxOf: number | undefined;
}

export function toSite({
  ID,
  Name,
  Hostnames,
  Default,
  Suspended,
  Importing,
  SandboxOf,
  KeyWebhooks,
}: SiteRecord): Site {
  const isSuspended = Suspended !== "";
  return {
    id: ID,
    name: Name,
    hostnames: splitWords(Hostnames).map(hostnameOf),
    isDefault: Default === "yes",
    isSuspended,
    isServed: !isSuspended && Importing === "",
    allowsWebhooksByKey: KeyWebhooks !== "no",
    sandboxOf: SandboxOf === "" ? undefined : Number(SandboxOf),
  };
}

/** What requests need of an API key. */
export interface ApiKey {
  readonly id: number;
  /** The ID of the key's site. */
  readonly siteId: number;
  readonly prefix: string;
  readonly digest: string;
  readonly label: string;
  readonly rights: KeyRights;
  /** The networks from which it can be used; undefined for all. */
  readonly networks: readonly IpNetwork[] | undefined;
  /** Requests per second; undefined for the server's default. */
  readonly rate: number | undefined;
  /** When the key expires, in milliseconds since 1970; infinity if never, 0 if it was revoked. */
  readonly endsAt: number;
  /** Of the keys that it has replaced by rotation, latest first. */
  readonly formerPrefixes: readonly string[];
  /** The ID of the first of these keys, or its own. Idempotency keys belong to that one, so that they survive a rotation. */
  readonly firstId: number;
}

/** Maximum networks from which one key can be used, since each request compares its address with all of them. */
export const maxKeyNetworks = 16;

/** Shared to save memory. */
const noPrefixes: readonly string[] = [];

/** @param replaced the key that it has replaced by rotation, if known */
export function toApiKey(
  { ID, Site, Prefix, Digest, Label, Scope, Networks, Rate, Expires, Revoked, Former }: KeyRecord,
  replaced?: ApiKey,
): ApiKey {
  // Another machine's clock decided when the key was revoked, so we don't compare that with ours.
  const expiresAt = Expires === "" ? Number.POSITIVE_INFINITY : Date.parse(Expires);
  const rate = Rate === "" ? undefined : Number(Rate);
  return {
    id: ID,
    siteId: Number(Site),
    prefix: Prefix,
    digest: Digest,
    label: Label,
    rights: toKeyRights(Scope),
    // What isn't a network includes no address.
    networks:
      Networks === ""
        ? undefined
        : splitWords(Networks)
            .map(toNetwork)
            .filter((network) => network !== undefined),
    rate,
    endsAt: Revoked === "" ? expiresAt : 0,
    formerPrefixes: Former === "" ? noPrefixes : splitWords(Former),
    firstId: replaced?.firstId ?? ID,
  };
}

/** What deliveries need of a webhook. */
export interface Webhook extends WebhookRef {
  readonly url: string;
  /** Names of the resources it follows. */
  readonly resources: ReadonlySet<string>;
  /** Undefined if it isn't paused. */
  readonly pauseReason: string | undefined;
}

/** @param names names of all served resources, by path */
export function toWebhook(record: WebhookRecord, names: ReadonlyMap<string, string>): Webhook {
  const { ID, Site, URL: url, Resources, Paused, Reason } = record;
  const paths = Resources === "" ? [...names.keys()] : splitWords(Resources);
  const resources = new Set(paths.flatMap((path) => names.get(path) ?? []));
  return { site: Number(Site), webhook: ID, url, resources, pauseReason: Paused === "" ? undefined : Reason };
}

/** Undefined for all sites. */
export function managedSiteIds({ Sites }: Pick<OperatorRecord, "Sites">): ReadonlySet<number> | undefined {
  return Sites === "" ? undefined : new Set(splitWords(Sites).map(Number));
}

/** For fields with several values, separated by spaces. */
export function splitWords(field: string): string[] {
  return field === "" ? [] : field.split(" ");
}
