// Applies what was last decided about keys, operators, webhooks and sites to a restored system site. Otherwise, a restore would let people back in who
// have been locked out since the backup. store/database/restrictions.ts explains how decisions are recorded, and how they survive a restore.
//
// Removing a site isn't a restriction. A restore brings it back with its keys and webhooks, because that's what restoring is for.

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
  /** A key's prefix, a webhook's URL, or the name. */
  readonly name: string;
  /** The name of a key's or webhook's site. */
  readonly site?: string;
  /** `unsigned`: a webhook's secret was rotated and the new one is lost, so the webhook is paused. */
  readonly change: "revoked" | "narrowed" | "changed" | "rotated" | "unsigned" | "removed" | "paused" | "suspended";
}

/** A restriction, and what it takes to keep it. */
interface Found extends Restriction {
  readonly intents?: readonly Intent[];
  readonly webhooks?: Amendment["webhooks"];
}

interface RestrictionOptions {
  /** Whether to take the restored records as the last word, and lift all restrictions. */
  readonly isAsOfBackup: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly onFound: (found: readonly Restriction[], swap: Swap) => void;
}

/** The `Amend` of a restore finds the restrictions made after the backup, and adds them to the restored system site. */
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
 * What's removed or rotated in the backup, but was allowed again later. Restoring an even older backup must not bring it back, while restoring a later one
 * should, because that one knows it was allowed again. For other limits, the replaced record takes care of this (`limitsOf`).
 */
function restrictedAgain({ backedUp, restrictions }: Swap): RecordedRestriction[] {
  const last = new Map(restrictions.map((row) => [keyOf(row), row.value]));
  return backedUp.filter(
    (row) => row.field === removedField && isWider(row.field, last.get(keyOf(row)) ?? row.value, row.value),
  );
}

/** A backup's system site, the one it replaces, and what was decided about their records. */
class RestoredSystem {
  readonly keys: readonly KeyRecord[];
  readonly operators: readonly OperatorRecord[];
  readonly webhooks: readonly WebhookRecord[];
  readonly sites: readonly SiteRecord[];
  readonly limits: RecordedLimits;
  /** Lasting names of the restored and the replaced sites, by ID in digits. */
  readonly siteUIDs: ReadonlyMap<string, string>;
  readonly replacedUIDs: ReadonlyMap<string, string>;
  readonly #siteNames: ReadonlyMap<number, string>;
  readonly #secrets: ReadonlyMap<number, readonly WebhookSecret[]>;
  readonly #replacedSecrets: ReadonlyMap<number, readonly WebhookSecret[]>;
  /** By resource and lasting name. */
  readonly #replaced: ReadonlyMap<string, { readonly ID: number }>;
  /** Limits that haven't been touched since the backup. */
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
   * The limits for a restored record: what was decided, and what limits the replaced record. These differ if that record came from restoring an older
   * backup. If the backup knows the last decision, its own record counts instead.
   */
  limitsOf(resource: Resource, record: object): readonly Decided[] {
    const kind = resource.name;
    const name = lastingName(kind, record);
    const replaced = Object.entries(limitsIn(kind, this.replacedOf(resource, record) ?? {})).filter(
      ([field]) => !this.#isLastInBackup.has(keyOf({ kind, name, field })),
    );
    return [this.limits.of(kind, record), Object.fromEntries(replaced)];
  }

  /** The same record in the replaced database, by lasting name. */
  replacedOf(resource: Resource, record: object): { readonly ID: number } | undefined {
    return this.#replaced.get(`${resource.name} ${lastingName(resource.name, record)}`);
  }

  /** @param id in digits */
  siteName(id: string): string {
    return this.#siteNames.get(Number(id)) ?? "";
  }

  /** Current secret first. */
  secretsOf({ ID }: WebhookRecord): readonly WebhookSecret[] {
    return this.#secrets.get(ID) ?? [];
  }

  /** Those in the replaced database, if it had the webhook. */
  replacedSecretsOf(webhook: WebhookRecord): readonly WebhookSecret[] {
    return this.#replacedSecrets.get(this.replacedOf(webhookResource, webhook)?.ID ?? 0) ?? [];
  }
}

/** Without sandboxes, because operators manage them along with their live sites. */
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
    // An empty list would mean all sites.
    if (system.limits.isRemoved(operatorResource.name, record) || Sites === "")
      return [{ kind: "operator", name, change: "removed", intents: [toDeleteIntent(operatorResource, ID, now)] }];
    const others = narrowedValues(operatorResource, record, system.limitsOf(operatorResource, record));
    if (Sites === undefined && !others) return [];
    const values = { ...others, ...(Sites !== undefined && { Sites }) };
    const intents = [toUpdateIntent(operatorResource, ID, values, now)];
    return [{ kind: "operator", name, change: "narrowed", intents }];
  });
}

/** The sites a restored operator can still manage; empty for none, undefined if nothing is taken away. */
function narrowedSites(record: OperatorRecord, system: RestoredSystem): string | undefined {
  const [decided, replaced] = system.limitsOf(operatorResource, record);
  const [allowed, kept] = [splitWords(decided?.Sites ?? ""), splitWords(replaced?.Sites ?? "")];
  // Sites that the replaced database had, but that the operator couldn't manage there.
  const lost = [...system.replacedUIDs].filter(([id]) => kept.length > 0 && !kept.includes(id)).map(([, uid]) => uid);
  const isAllowed = (uid = "") => (allowed.length === 0 || allowed.includes(uid)) && !lost.includes(uid);
  // An ID without a site would let the operator manage whichever site gets it later.
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

const lostSecretReason = "its secret was rotated after the backup and the new one is lost; rotate it again";

/**
 * Finds webhooks whose secret was rotated, so that others may know the old one. Their receivers have the new one, which the replaced database may still
 * have. If not, the webhook gets a secret that nobody knows, and is paused.
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
    const pause = { Paused: record.Paused || toInstant(now), Reason: lostSecretReason, PausedBy: "" };
    const intents = [toUpdateIntent(webhookResource, record.ID, pause, now)];
    return [{ ...shown, change: "unsigned", intents, webhooks: [{ key, secrets: [unknown] }] }];
  });
}

function suspendedSites(system: RestoredSystem, now: number): Found[] {
  return system.sites.flatMap((record): Found[] => {
    const values = narrowedValues(siteResource, record, system.limitsOf(siteResource, record));
    if (!values) return [];
    const intents = [toUpdateIntent(siteResource, record.ID, values, now)];
    return [{ kind: "site", name: record.Name, change: values.Suspended ? "suspended" : "narrowed", intents }];
  });
}

/** Decisions that confirm every restored record as it is, so that a later restore doesn't restrict it again. */
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
