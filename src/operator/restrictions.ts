// What was revoked, removed, suspended, narrowed or rotated since a backup stays so when the backup is restored: otherwise, a restore would let in
// again who was locked out. A site that was removed with `site remove` comes back with what it had, since that is what restores are for.

import type { Amend, Amendment, KeyChange, StoredSystem, Swap } from "../model/amend.ts";
import type { Head } from "../model/engine.ts";
import type { Intent } from "../model/intent.ts";
import { systemSite } from "../model/system-site.ts";
import { key as keyResource } from "../resources/key.ts";
import { operator as operatorResource } from "../resources/operator.ts";
import { site as siteResource } from "../resources/site.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import { narrowedKey, rotatedKeys } from "./key-restrictions.ts";
import { toDelete, toUpdate } from "./system.ts";
import { KnownSystem, latestBy, present } from "./system-diff.ts";
import { type WebhookRecord, webhookKeyOf } from "./webhook-list.ts";

/** Something that was restricted after the backup. */
export interface Restriction {
  readonly kind: "key" | "operator" | "webhook" | "site";
  /** The prefix of a key, the URL of a webhook, otherwise the name. */
  readonly name: string;
  /** The name of the site of a key or webhook. */
  readonly site?: string;
  readonly change: "revoked" | "narrowed" | "rotated" | "removed" | "paused" | "suspended";
}

/** The result of the comparison. */
export interface Restrictions {
  readonly found: readonly Restriction[];
  /** Whether the target knows nothing of what the backup has, so that nothing can be said. */
  readonly isUnknown: boolean;
}

interface Found extends Restriction {
  readonly intents?: readonly Intent[];
  readonly webhooks?: Amendment["webhooks"];
}

interface RestrictionOptions {
  /** The head of a site in the backup. */
  readonly backupHead: (site: number) => Head | undefined;
  /** Whether the restrictions are only found, and not kept. */
  readonly isAsOfBackup: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly onFound: (restrictions: Restrictions) => void;
}

/** Decides what a restore amends: it keeps what was restricted since the backup. */
export function keepRestrictions({ backupHead, isAsOfBackup, now, onFound }: RestrictionOptions): Amend {
  const sameHistory = ({ epoch }: Head) => backupHead(systemSite)?.epoch === epoch;
  return {
    keyChangesAfter: (head) => (sameHistory(head) ? (backupHead(systemSite)?.revision ?? 0) : 0),
    decide: (swap) => {
      const [last, then] = [new KnownSystem(swap.replaced), new KnownSystem(swap.restored)];
      const found = compare(swap, last, then, sameHistory(swap.replaced.head), now);
      const shown = found.map(({ intents: _, webhooks: __, ...restriction }) => restriction);
      onFound({ found: shown, isUnknown: isUnknown(last, then) });
      if (isAsOfBackup) return { intents: [], webhooks: [] };
      return {
        intents: found.flatMap(({ intents = [] }) => intents),
        webhooks: found.flatMap(({ webhooks = [] }) => webhooks),
      };
    },
  };
}

/** @param isSameHistory whether the backup is an earlier state of what is replaced, so that a record that is missing there was removed */
function compare(
  { replaced, restored, keyChanges }: Swap,
  last: KnownSystem,
  then: KnownSystem,
  isSameHistory: boolean,
  now: number,
): Found[] {
  return [
    ...restrictedKeys(last, then, keyChanges, now),
    ...restrictedOperators(last, then, isSameHistory, now),
    ...restrictedWebhooks(last, then, isSameHistory, now),
    ...rotatedSecrets(last, then, replaced, restored),
    ...suspendedSites(last, then, isSameHistory, now),
  ];
}

function restrictedKeys(last: KnownSystem, then: KnownSystem, keyChanges: readonly KeyChange[], now: number): Found[] {
  const known = latestBy(last.keys, ({ Digest }) => Digest);
  const siteName = siteNames(then);
  const successors = rotatedKeys(last.keys, present(then.keys), keyChanges, now);
  return present(then.keys).flatMap((record): Found[] => {
    const { ID, Prefix: name, Site } = record;
    const values = narrowedKey(record, known.get(record.Digest)?.record);
    if (!values) return [];
    const after = successors.get(ID) ?? [];
    const change = after.length > 0 ? "rotated" : values.Revoked ? "revoked" : "narrowed";
    return [
      { kind: "key", name, site: siteName(Site), change, intents: [...after, toUpdate(keyResource, ID, values, now)] },
    ];
  });
}

function restrictedOperators(last: KnownSystem, then: KnownSystem, isSameHistory: boolean, now: number): Found[] {
  const known = latestBy(last.operators, ({ Name }) => Name);
  const sites = new Set(present(then.sites).map(({ ID }) => String(ID)));
  return present(then.operators).flatMap(({ ID, Name: name, Sites }): Found[] => {
    const found = known.get(name);
    const remove: Found = { kind: "operator", name, change: "removed", intents: [toDelete(operatorResource, ID, now)] };
    if (!found) return isSameHistory ? [remove] : [];
    if (found.deleted) return [remove];
    const allowed = found.record.Sites === "" ? undefined : found.record.Sites.split(" ");
    const before = Sites === "" ? [...sites] : Sites.split(" ");
    const left = allowed && before.filter((site) => allowed.includes(site));
    if (!left || (Sites !== "" && left.length === before.length)) return [];
    // Without a site it would be an operator of all sites, or of one that gets such an ID later.
    const remaining = left.filter((site) => sites.has(site));
    if (remaining.length === 0) return [remove];
    const intents = [toUpdate(operatorResource, ID, { Sites: remaining.join(" ") }, now)];
    return [{ kind: "operator", name, change: "narrowed", intents }];
  });
}

function restrictedWebhooks(last: KnownSystem, then: KnownSystem, isSameHistory: boolean, now: number): Found[] {
  const known = latestBy(last.webhooks, identityOf);
  const sites = new Map(last.sites.map(({ record, deleted }) => [record.ID, deleted !== undefined]));
  const siteName = siteNames(then);
  return present(then.webhooks).flatMap((record): Found[] => {
    const found = known.get(identityOf(record));
    const shown = { kind: "webhook", name: record.URL, site: siteName(record.Site) } as const;
    const isRemoved = found
      ? found.deleted && !last.wasRemovedWithSite(found)
      : isSameHistory && sites.get(Number(record.Site)) === false;
    if (isRemoved) {
      const webhooks = [{ key: webhookKeyOf(record), secrets: [] }];
      return [{ ...shown, change: "removed", intents: [toDelete(webhookResource, record.ID, now)], webhooks }];
    }
    if (!found?.record.Paused || record.Paused) return [];
    const { Paused, Reason } = found.record;
    return [{ ...shown, change: "paused", intents: [toUpdate(webhookResource, record.ID, { Paused, Reason }, now)] }];
  });
}

/** The webhooks whose present secret is another one than in the backup: the receiver has the new one, and the old one may be known to others. */
function rotatedSecrets(last: KnownSystem, then: KnownSystem, replaced: StoredSystem, restored: StoredSystem): Found[] {
  const lastSecrets = Map.groupBy(replaced.secrets, ({ webhook }) => webhook);
  const thenSecrets = Map.groupBy(restored.secrets, ({ webhook }) => webhook);
  const known = new Map(present(last.webhooks).map((record) => [identityOf(record), record.ID]));
  const siteName = siteNames(then);
  return present(then.webhooks).flatMap((record): Found[] => {
    const secrets = lastSecrets.get(known.get(identityOf(record)) ?? 0) ?? [];
    const [before] = thenSecrets.get(record.ID) ?? [];
    if (secrets.length === 0 || !before || secrets[0]?.secret === before.secret) return [];
    const webhooks = [{ key: webhookKeyOf(record), secrets }];
    return [{ kind: "webhook", name: record.URL, site: siteName(record.Site), change: "rotated", webhooks }];
  });
}

/** A site is found by its name, or in the same history by its ID. */
function suspendedSites(last: KnownSystem, then: KnownSystem, isSameHistory: boolean, now: number): Found[] {
  const byName = latestBy(last.sites, ({ Name }) => Name);
  const byId = latestBy(isSameHistory ? last.sites : [], ({ ID }) => String(ID));
  return present(then.sites).flatMap(({ ID, Name: name, Suspended }): Found[] => {
    const found = byName.get(name) ?? byId.get(String(ID));
    if (!found?.record.Suspended || Suspended) return [];
    const intents = [toUpdate(siteResource, ID, { Suspended: found.record.Suspended }, now)];
    return [{ kind: "site", name, change: "suspended", intents }];
  });
}

/** A webhook keeps its URL and the time of its creation, while its ID is another one after `import-site`. */
function identityOf({ Site, URL: url, Created }: WebhookRecord): string {
  return `${Site} ${Created} ${url}`;
}

function siteNames(system: KnownSystem): (id: string) => string {
  const names = new Map(present(system.sites).map(({ ID, Name }) => [ID, Name]));
  return (id) => names.get(Number(id)) ?? "";
}

/** Whether the target has never known any of the keys, operators and sites of the backup. */
function isUnknown(last: KnownSystem, then: KnownSystem): boolean {
  const namesIn = (system: KnownSystem) => [
    ...system.keys.map(({ record }) => record.Digest),
    ...system.operators.map(({ record }) => `operator ${record.Name}`),
    ...system.sites.map(({ record }) => `site ${record.Name}`),
  ];
  const known = new Set(namesIn(last));
  const restoredNames = namesIn(then);
  return restoredNames.length > 0 && !restoredNames.some((name) => known.has(name));
}
