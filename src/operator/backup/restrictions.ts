// Applies what was last decided about keys, operators, webhooks and sites to a restored system site. Otherwise, a restore would give access again to
// people who were locked out after the backup. store/database/restrictions.ts says how decisions are recorded, and how they outlive a restore.
//
// Removing a site with `site remove` is not a restriction. A restore brings the site back with its keys and webhooks: this is what a restore is for.

import type { Amend, Amendment, RecordedRestriction, StoredSystem, Swap } from "../../model/amend.ts";
import type { Intent } from "../../model/change.ts";
import { toDeclaredJson, type Values } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { createWebhookSecret, type WebhookSecret } from "../../model/webhooks.ts";
import { key as keyResource } from "../../resources/key.ts";
import { operator as operatorResource } from "../../resources/operator.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import {
  digestOfSecret,
  keyOf,
  lastingName,
  limitsIn,
  removedField,
  replacesField,
  secretKind,
  textIn,
  toSiteNames,
} from "../../store/database/restrictions.ts";
import { toCreateIntent, toDeleteIntent, toInstant, toUpdateIntent } from "../../system/system-changes.ts";
import {
  type KeyRecord,
  type OperatorRecord,
  type SiteRecord,
  splitWords,
  type WebhookRecord,
} from "../../system/system-records.ts";
import { webhookRefOf } from "../webhooks/webhook-list.ts";
import { type Decided, isWider, narrowedValues, RecordedLimits } from "./recorded-limits.ts";

/** Something that was restricted after the backup. */
export interface Restriction {
  readonly kind: "key" | "operator" | "webhook" | "site";
  /** The prefix of a key, the URL of a webhook, otherwise the name. */
  readonly name: string;
  /** The name of the site to which a key or webhook belongs. */
  readonly site?: string;
  /** `unsigned`: the secret of a webhook was rotated, and the new secret is lost, so the webhook is paused. */
  readonly change: "revoked" | "narrowed" | "changed" | "rotated" | "unsigned" | "removed" | "paused" | "suspended";
}

/** A restriction, and the changes that keep it in the restored system site. */
interface Found extends Restriction {
  readonly intents?: readonly Intent[];
  readonly webhooks?: Amendment["webhooks"];
}

interface RestrictionOptions {
  /** Whether the restored records are the last decision about themselves, so that no restriction of them is kept. */
  readonly isAsOfBackup: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly onFound: (found: readonly Restriction[], swap: Swap) => void;
}

/** Returns the `Amend` of a restore. It finds the restrictions that were made after the backup, and adds them to the restored system site. */
export function createRestoreAmend({ isAsOfBackup, now, onFound }: RestrictionOptions): Amend {
  return (swap) => {
    const system = new RestoredSystem(swap);
    const found = [
      ...restrictedKeys(system, now),
      ...restrictedOperators(system, now),
      ...restrictedWebhooks(system, now),
      ...rotatedSecrets(system, now),
      ...suspendedSites(system, now),
    ];
    const shown = found.map(({ intents: _, webhooks: __, ...restriction }) => restriction);
    onFound(shown, swap);
    const restrictions = restrictedAgain(swap);
    if (isAsOfBackup)
      return { intents: [], webhooks: [], restrictions: [...restrictions, ...asDecided(system, swap, now)] };
    return {
      intents: found.flatMap(({ intents = [] }) => intents),
      webhooks: found.flatMap(({ webhooks = [] }) => webhooks),
      restrictions,
    };
  };
}

/**
 * Returns what the backup has removed or rotated, and was allowed again after it. An even older backup must not bring that back. A later one does, because
 * it knows that it was allowed again. For other limits, the replaced record does the same (`limitsOf`).
 */
function restrictedAgain({ backedUp, restrictions }: Swap): RecordedRestriction[] {
  const last = new Map(restrictions.map((row) => [keyOf(row), row.value]));
  return backedUp.filter(
    (row) => row.field === removedField && isWider(row.field, last.get(keyOf(row)) ?? row.value, row.value),
  );
}

/** The system site of a backup, the one that it replaces, and what was decided about their records. */
class RestoredSystem {
  readonly keys: readonly KeyRecord[];
  readonly operators: readonly OperatorRecord[];
  readonly webhooks: readonly WebhookRecord[];
  readonly sites: readonly SiteRecord[];
  readonly limits: RecordedLimits;
  /** The lasting names of the restored and of the replaced sites, by ID in digits. */
  readonly siteUIDs: ReadonlyMap<string, string>;
  readonly replacedUIDs: ReadonlyMap<string, string>;
  readonly #siteNames: ReadonlyMap<number, string>;
  readonly #secrets: ReadonlyMap<number, readonly WebhookSecret[]>;
  readonly #replacedSecrets: ReadonlyMap<number, readonly WebhookSecret[]>;
  /** The replaced records, by resource and lasting name. */
  readonly #replaced: ReadonlyMap<string, { readonly ID: number }>;
  /** The limits about which nothing was decided after the backup. */
  readonly #isLastInBackup: ReadonlySet<string>;

  constructor({ restored, replaced, restrictions, backedUp }: Swap) {
    this.keys = recordsOf(keyResource, restored);
    this.operators = recordsOf(operatorResource, restored);
    this.webhooks = recordsOf(webhookResource, restored);
    this.sites = recordsOf(siteResource, restored);
    this.limits = new RecordedLimits(restrictions);
    this.siteUIDs = namesById(this.sites);
    this.replacedUIDs = namesById(recordsOf(siteResource, replaced));
    this.#siteNames = new Map(this.sites.map(({ ID, Name }) => [ID, Name]));
    this.#secrets = secretsIn(restored);
    this.#replacedSecrets = secretsIn(replaced);
    this.#replaced = new Map(
      [keyResource, operatorResource, webhookResource, siteResource].flatMap((resource) =>
        recordsOf<{ ID: number }>(resource, replaced).map((record) => [
          `${resource.name} ${lastingName(resource.name, record)}`,
          record,
        ]),
      ),
    );
    const last = new Map(restrictions.map((row) => [keyOf(row), row.at]));
    this.#isLastInBackup = new Set(backedUp.filter((row) => last.get(keyOf(row)) === row.at).map(keyOf));
  }

  /**
   * Returns the limits that apply to a restored record: what was decided, and what limits the replaced record. They differ if that one comes from an
   * earlier restore of an older backup. If the backup knows the last decision, its record counts instead.
   */
  limitsOf(resource: Resource, record: object): readonly Decided[] {
    const kind = resource.name;
    const name = lastingName(kind, record);
    const replaced = Object.entries(limitsIn(kind, this.replacedOf(resource, record) ?? {})).filter(
      ([field]) => !this.#isLastInBackup.has(keyOf({ kind, name, field })),
    );
    return [this.limits.of(kind, record), Object.fromEntries(replaced)];
  }

  /** Returns the record of the replaced database that has the lasting name of a restored one. */
  replacedOf(resource: Resource, record: object): { readonly ID: number } | undefined {
    return this.#replaced.get(`${resource.name} ${lastingName(resource.name, record)}`);
  }

  /** @param id the ID of the site, in digits */
  siteName(id: string): string {
    return this.#siteNames.get(Number(id)) ?? "";
  }

  /** Returns the secrets of a webhook, the present one first. */
  secretsOf({ ID }: WebhookRecord): readonly WebhookSecret[] {
    return this.#secrets.get(ID) ?? [];
  }

  /** Returns the secrets that the webhook had in the replaced database; none if that did not have it. */
  replacedSecretsOf(webhook: WebhookRecord): readonly WebhookSecret[] {
    return this.#replacedSecrets.get(this.replacedOf(webhookResource, webhook)?.ID ?? 0) ?? [];
  }
}

/** Sandboxes are left out, because operators manage them with their live sites. */
function namesById(sites: readonly SiteRecord[]): ReadonlyMap<string, string> {
  const live = sites.filter(({ SandboxOf }) => SandboxOf === "");
  return new Map(live.map((site) => [String(site.ID), lastingName(siteResource.name, site)]));
}

function recordsOf<T>(resource: Resource, { records }: StoredSystem): T[] {
  return records
    .filter(({ resource: name }) => name === resource.name)
    .map(({ body }) => JSON.parse(toDeclaredJson(resource, body)) as T);
}

function secretsIn({ secrets }: StoredSystem): ReadonlyMap<number, readonly WebhookSecret[]> {
  const byWebhook = Map.groupBy(secrets, ({ webhook }) => webhook);
  return new Map(
    [...byWebhook].map(([id, some]) => [
      id,
      some.map(({ secret, createdAt, until }) => ({ secret, createdAt, until })),
    ]),
  );
}

function restrictedKeys(system: RestoredSystem, now: number): Found[] {
  const byDigest = new Map(system.keys.map((record) => [record.Digest, record]));
  const replacements = system.limits.replacementsOf(byDigest, now);
  return system.keys.flatMap((record): Found[] => {
    const { ID, Prefix: name, Digest, Site, Revoked } = record;
    const values = Revoked ? undefined : narrowedValues(keyResource, record, system.limitsOf(keyResource, record));
    if (!values) return [];
    const after = replacements.get(Digest) ?? [];
    const change = after.length > 0 ? "rotated" : values.Revoked ? "revoked" : "narrowed";
    const intents = [
      ...after.map(({ ID: _, ...key }) => toCreateIntent(keyResource, { ...key, Site }, now)),
      toUpdateIntent(keyResource, ID, values, now),
    ];
    return [{ kind: "key", name, site: system.siteName(Site), change, intents }];
  });
}

function restrictedOperators(system: RestoredSystem, now: number): Found[] {
  return system.operators.flatMap((record): Found[] => {
    const { ID, Name: name } = record;
    const Sites = narrowedSites(record, system);
    // Without any site, the operator could manage all sites.
    if (system.limits.isRemoved(operatorResource.name, record) || Sites === "")
      return [{ kind: "operator", name, change: "removed", intents: [toDeleteIntent(operatorResource, ID, now)] }];
    const others = narrowedValues(operatorResource, record, system.limitsOf(operatorResource, record));
    if (Sites === undefined && !others) return [];
    const values = { ...others, ...(Sites !== undefined && { Sites }) };
    const intents = [toUpdateIntent(operatorResource, ID, values, now)];
    return [{ kind: "operator", name, change: "narrowed", intents }];
  });
}

/** Returns the sites that a restored operator may still manage; empty for none, undefined if the operator may manage all that were restored. */
function narrowedSites(record: OperatorRecord, system: RestoredSystem): string | undefined {
  const [decided, replaced] = system.limitsOf(operatorResource, record);
  const [allowed, kept] = [splitWords(decided?.Sites ?? ""), splitWords(replaced?.Sites ?? "")];
  // In the replaced database, the operator could only manage the sites that it had.
  const lost = [...system.replacedUIDs].filter(([id]) => kept.length > 0 && !kept.includes(id)).map(([, uid]) => uid);
  const isAllowed = (uid = "") => (allowed.length === 0 || allowed.includes(uid)) && !lost.includes(uid);
  // With the ID of a missing site, the operator could manage a later site with this ID.
  const present = (id: string) => system.siteUIDs.has(id);
  const before = record.Sites === "" ? [...system.siteUIDs.keys()] : splitWords(record.Sites).filter(present);
  const stillAllowed = before.filter((id) => isAllowed(system.siteUIDs.get(id)));
  if (record.Sites === "" && allowed.length + kept.length === 0) return undefined;
  return record.Sites !== "" && stillAllowed.length === before.length ? undefined : stillAllowed.join(" ");
}

function restrictedWebhooks(system: RestoredSystem, now: number): Found[] {
  return system.webhooks.flatMap((record): Found[] => {
    const { ID, URL: name, Site } = record;
    const shown = { kind: "webhook", name, site: system.siteName(Site) } as const;
    if (system.limits.isRemoved(webhookResource.name, record)) {
      const webhooks = [{ key: webhookRefOf(record), secrets: [] }];
      return [{ ...shown, change: "removed", intents: [toDeleteIntent(webhookResource, ID, now)], webhooks }];
    }
    const { URL: url = name } = system.limits.of(webhookResource.name, record);
    const pause =
      record.Paused === ""
        ? narrowedValues(webhookResource, record, system.limitsOf(webhookResource, record))
        : undefined;
    const update = (values: Values) => [toUpdateIntent(webhookResource, ID, values, now)];
    return [
      ...(url === name ? [] : [{ ...shown, change: "changed", intents: update({ URL: url }) } as const]),
      ...(pause ? [{ ...shown, change: "paused", intents: update(pause) } as const] : []),
    ];
  });
}

const lostSecretReason = "its secret was rotated after the backup, and the new one is lost: rotate it again";

/**
 * Finds webhooks whose secret was rotated, because others may know the old one. The receiver has the new secret, which the replaced database may have. If
 * not, the webhook gets a secret that nobody knows, and is paused.
 */
function rotatedSecrets(system: RestoredSystem, now: number): Found[] {
  return system.webhooks.flatMap((record): Found[] => {
    const [before] = system.secretsOf(record);
    const isKept = !before || !system.limits.isRotated(before.secret);
    if (isKept || system.limits.isRemoved(webhookResource.name, record)) return [];
    const shown = { kind: "webhook", name: record.URL, site: system.siteName(record.Site) } as const;
    const key = webhookRefOf(record);
    const [present, ...older] = system.replacedSecretsOf(record);
    if (present && !system.limits.isRotated(present.secret))
      return [{ ...shown, change: "rotated", webhooks: [{ key, secrets: [present, ...older] }] }];
    const unknown = { secret: createWebhookSecret(), createdAt: now, until: null };
    const pause = { Paused: record.Paused || toInstant(now), Reason: lostSecretReason };
    const intents = [toUpdateIntent(webhookResource, record.ID, pause, now)];
    return [{ ...shown, change: "unsigned", intents, webhooks: [{ key, secrets: [unknown] }] }];
  });
}

function suspendedSites(system: RestoredSystem, now: number): Found[] {
  return system.sites.flatMap((record): Found[] => {
    const values = narrowedValues(siteResource, record, system.limitsOf(siteResource, record));
    if (!values) return [];
    const intents = [toUpdateIntent(siteResource, record.ID, values, now)];
    return [{ kind: "site", name: record.Name, change: "suspended", intents }];
  });
}

/** Returns decisions that make every restored record what was last decided about it, so that a later restore does not restrict it again. */
function asDecided(system: RestoredSystem, { restrictions }: Swap, now: number): RecordedRestriction[] {
  const records = new Map<string, object>();
  const add = ({ name: kind }: Resource, some: readonly object[]) => {
    for (const record of some) records.set(`${kind} ${lastingName(kind, record)}`, record);
  };
  add(keyResource, system.keys);
  add(operatorResource, system.operators);
  add(webhookResource, system.webhooks);
  add(siteResource, system.sites);
  for (const webhook of system.webhooks)
    for (const { secret } of system.secretsOf(webhook).slice(0, 1))
      records.set(`${secretKind} ${digestOfSecret(secret)}`, {});
  return restrictions.flatMap((row) => {
    const { kind, name, field } = row;
    const record = records.get(`${kind} ${name}`);
    if (!record || field === replacesField) return [];
    const value = textIn(record, field);
    const isOfSites = kind === operatorResource.name && field === "Sites";
    return [{ ...row, value: isOfSites ? toSiteNames(value, system.siteUIDs) : value, at: Math.max(now, row.at + 1) }];
  });
}
