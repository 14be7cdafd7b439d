// Keeps restrictions when a backup is restored: keys, operators, webhooks and secrets that were revoked, removed, paused, narrowed or rotated after
// the backup, and sites that were suspended. Otherwise, a restore would give access again to people who were locked out.
//
// Removing a site with `site remove` is not a restriction. A restore brings the site back with its keys and webhooks: this is what a restore is for.

import type { Amend, Amendment, KeyChange, Swap } from "../../model/amend.ts";
import type { Intent } from "../../model/change.ts";
import type { Head } from "../../model/head.ts";
import { rightsOf, toRole } from "../../model/operator-role.ts";
import type { Values } from "../../model/record.ts";
import { systemSite } from "../../model/system-site.ts";
import { key as keyResource } from "../../resources/key.ts";
import { operator as operatorResource } from "../../resources/operator.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { toDeleteIntent, toUpdateIntent } from "../../system/system-changes.ts";
import { type OperatorRecord, splitWords, type WebhookRecord } from "../../system/system-records.ts";
import { webhookRefOf } from "../webhooks/webhook-list.ts";
import { narrowedKey, rotatedKeys } from "./key-restrictions.ts";
import { KnownSystem, latestBy, present } from "./known-system.ts";

/** Something that was restricted after the backup. */
export interface Restriction {
  readonly kind: "key" | "operator" | "webhook" | "site";
  /** The prefix of a key, the URL of a webhook, otherwise the name. */
  readonly name: string;
  /** The name of the site to which a key or webhook belongs. */
  readonly site?: string;
  readonly change: "revoked" | "narrowed" | "changed" | "rotated" | "removed" | "paused" | "suspended";
}

/** The result of comparing the replaced system site with the restored one. */
export interface Restrictions {
  readonly found: readonly Restriction[];
  /** Whether the target has nothing in common with the backup, so that no restriction can be found. */
  readonly isUnknown: boolean;
}

/** A restriction, and the changes that keep it in the restored system site. */
interface Found extends Restriction {
  readonly intents?: readonly Intent[];
  readonly webhooks?: Amendment["webhooks"];
}

interface RestrictionOptions {
  /** Returns the head of a site in the backup. */
  readonly backupHead: (site: number) => Head | undefined;
  /** Whether the restrictions are only found, but not kept. */
  readonly isAsOfBackup: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly onFound: (restrictions: Restrictions) => void;
}

/** Returns the `Amend` of a restore. It finds the restrictions that were made after the backup, and adds them to the restored system site. */
export function createRestoreAmend({ backupHead, isAsOfBackup, now, onFound }: RestrictionOptions): Amend {
  const isEpochOfBackup = ({ epoch }: Head) => backupHead(systemSite)?.epoch === epoch;
  return {
    keyChangesAfter: (head) => (isEpochOfBackup(head) ? (backupHead(systemSite)?.revision ?? 0) : 0),
    decide: (swap) => {
      const [replaced, restored] = [new KnownSystem(swap.replaced), new KnownSystem(swap.restored)];
      const found = compare(swap, replaced, restored, isEpochOfBackup(swap.replaced.head), now);
      const shown = found.map(({ intents: _, webhooks: __, ...restriction }) => restriction);
      onFound({ found: shown, isUnknown: isUnknown(replaced, restored) });
      if (isAsOfBackup) return { intents: [], webhooks: [] };
      return {
        intents: found.flatMap(({ intents = [] }) => intents),
        webhooks: found.flatMap(({ webhooks = [] }) => webhooks),
      };
    },
  };
}

/**
 * @param isSameEpoch whether the backup is an earlier state of the replaced system site. Then a record that only the backup has was removed later.
 */
function compare(swap: Swap, replaced: KnownSystem, restored: KnownSystem, isSameEpoch: boolean, now: number): Found[] {
  return [
    ...restrictedKeys(replaced, restored, swap.keyChanges, now),
    ...restrictedOperators(replaced, restored, isSameEpoch, now),
    ...restrictedWebhooks(replaced, restored, isSameEpoch, now),
    ...rotatedSecrets(replaced, restored, isSameEpoch, swap),
    ...suspendedSites(replaced, restored, isSameEpoch, now),
  ];
}

function restrictedKeys(
  replaced: KnownSystem,
  restored: KnownSystem,
  keyChanges: readonly KeyChange[],
  now: number,
): Found[] {
  const known = latestBy(replaced.keys, ({ Digest }) => Digest);
  const siteName = siteNames(restored);
  const successors = rotatedKeys(replaced.keys, present(restored.keys), keyChanges, now);
  return present(restored.keys).flatMap((record): Found[] => {
    const { ID, Prefix: name, Site } = record;
    const values = narrowedKey(record, known.get(record.Digest)?.record);
    if (!values) return [];
    const after = successors.get(ID) ?? [];
    const change = after.length > 0 ? "rotated" : values.Revoked ? "revoked" : "narrowed";
    return [
      {
        kind: "key",
        name,
        site: siteName(Site),
        change,
        intents: [...after, toUpdateIntent(keyResource, ID, values, now)],
      },
    ];
  });
}

function restrictedOperators(replaced: KnownSystem, restored: KnownSystem, isSameEpoch: boolean, now: number): Found[] {
  const known = latestBy(replaced.operators, ({ Name }) => Name);
  const sites = new Set(present(restored.sites).map(({ ID }) => String(ID)));
  return present(restored.operators).flatMap((record): Found[] => {
    const { ID, Name: name } = record;
    const found = known.get(name);
    const remove: Found = {
      kind: "operator",
      name,
      change: "removed",
      intents: [toDeleteIntent(operatorResource, ID, now)],
    };
    if (!found) return isSameEpoch ? [remove] : [];
    if (found.deleted) return [remove];
    const Sites = narrowedSites(record, found.record, sites);
    // Without any site, the operator could manage all sites.
    if (Sites === "") return [remove];
    const Role = narrowedRole(record, found.record);
    if (Sites === undefined && Role === undefined) return [];
    const values = { ...(Sites !== undefined && { Sites }), ...(Role !== undefined && { Role }) };
    return [
      { kind: "operator", name, change: "narrowed", intents: [toUpdateIntent(operatorResource, ID, values, now)] },
    ];
  });
}

/**
 * Returns the sites that a restored operator may still manage; empty for none, undefined if the operator may manage all that were restored.
 * @param existing IDs of the restored sites. With the ID of a missing site, the operator could manage a later site with this ID
 */
function narrowedSites(
  { Sites }: OperatorRecord,
  replaced: OperatorRecord,
  existing: ReadonlySet<string>,
): string | undefined {
  if (replaced.Sites === "") return undefined;
  const allowed = splitWords(replaced.Sites);
  const before = Sites === "" ? [...existing] : splitWords(Sites);
  const stillAllowed = before.filter((site) => allowed.includes(site));
  if (Sites !== "" && stillAllowed.length === before.length) return undefined;
  return stillAllowed.filter((site) => existing.has(site)).join(" ");
}

/** Returns the role that the operator had before the restore, if the restored role has a right that it did not have; otherwise undefined. */
function narrowedRole({ Role }: OperatorRecord, replaced: OperatorRecord): string | undefined {
  const allowed = rightsOf(toRole(replaced.Role));
  return rightsOf(toRole(Role)).every((right) => allowed.includes(right)) ? undefined : replaced.Role;
}

function restrictedWebhooks(replaced: KnownSystem, restored: KnownSystem, isSameEpoch: boolean, now: number): Found[] {
  const find = webhookFinder(replaced.webhooks, replaced, restored, isSameEpoch);
  const owners = new Set(present(replaced.sites).map(({ ID }) => replaced.ownerOf(String(ID))));
  const siteName = siteNames(restored);
  return present(restored.webhooks).flatMap((record): Found[] => {
    const found = find(record);
    const shown = { kind: "webhook", name: record.URL, site: siteName(record.Site) } as const;
    const isRemoved = found
      ? found.deleted && !replaced.wasRemovedWithSite(found)
      : isSameEpoch && owners.has(restored.ownerOf(record.Site));
    if (isRemoved) {
      const webhooks = [{ key: webhookRefOf(record), secrets: [] }];
      return [{ ...shown, change: "removed", intents: [toDeleteIntent(webhookResource, record.ID, now)], webhooks }];
    }
    if (!found) return [];
    const { URL: url, Paused, Reason } = found.record;
    const update = (values: Values) => [toUpdateIntent(webhookResource, record.ID, values, now)];
    return [
      ...(url === record.URL ? [] : [{ ...shown, change: "changed", intents: update({ URL: url }) } as const]),
      ...(!Paused || record.Paused
        ? []
        : [{ ...shown, change: "paused", intents: update({ Paused, Reason }) } as const]),
    ];
  });
}

/**
 * Returns a function that finds a restored webhook in the replaced system site. It compares the site, the URL and the time of creation; not the ID,
 * because `import-site` changes the IDs. If it finds none, and the epoch is the same, it compares the ID and the time of creation, because the URL may
 * have been changed since the backup.
 */
function webhookFinder(
  known: KnownSystem["webhooks"],
  replaced: KnownSystem,
  restored: KnownSystem,
  isSameEpoch: boolean,
): (record: WebhookRecord) => KnownSystem["webhooks"][number] | undefined {
  const identityOf = ({ Site, URL: url, Created }: WebhookRecord, system: KnownSystem) =>
    `${system.ownerOf(Site)} ${Created} ${url}`;
  const byIdentity = latestBy(known, (record) => identityOf(record, replaced));
  const byId = latestBy(isSameEpoch ? known : [], ({ ID, Created }) => `${ID} ${Created}`);
  return (record) => byIdentity.get(identityOf(record, restored)) ?? byId.get(`${record.ID} ${record.Created}`);
}

/** Finds webhooks with another present secret than in the backup. The receiver has the new secret, and others may know the old one. */
function rotatedSecrets(replaced: KnownSystem, restored: KnownSystem, isSameEpoch: boolean, swap: Swap): Found[] {
  const replacedSecrets = Map.groupBy(swap.replaced.secrets, ({ webhook }) => webhook);
  const restoredSecrets = Map.groupBy(swap.restored.secrets, ({ webhook }) => webhook);
  const existing = replaced.webhooks.filter(({ deleted }) => !deleted);
  const find = webhookFinder(existing, replaced, restored, isSameEpoch);
  const siteName = siteNames(restored);
  return present(restored.webhooks).flatMap((record): Found[] => {
    const secrets = replacedSecrets.get(find(record)?.record.ID ?? 0) ?? [];
    const [before] = restoredSecrets.get(record.ID) ?? [];
    if (secrets.length === 0 || !before || secrets[0]?.secret === before.secret) return [];
    const webhooks = [{ key: webhookRefOf(record), secrets }];
    return [{ kind: "webhook", name: record.URL, site: siteName(record.Site), change: "rotated", webhooks }];
  });
}

/** Finds suspended sites by their name, and in the same epoch also by their ID. */
function suspendedSites(replaced: KnownSystem, restored: KnownSystem, isSameEpoch: boolean, now: number): Found[] {
  const byName = latestBy(replaced.sites, ({ Name }) => Name);
  const byId = latestBy(isSameEpoch ? replaced.sites : [], ({ ID }) => String(ID));
  return present(restored.sites).flatMap(({ ID, Name: name, Suspended }): Found[] => {
    const found = byName.get(name) ?? byId.get(String(ID));
    if (!found?.record.Suspended || Suspended) return [];
    const intents = [toUpdateIntent(siteResource, ID, { Suspended: found.record.Suspended }, now)];
    return [{ kind: "site", name, change: "suspended", intents }];
  });
}

function siteNames(system: KnownSystem): (id: string) => string {
  const names = new Map(present(system.sites).map(({ ID, Name }) => [ID, Name]));
  return (id) => names.get(Number(id)) ?? "";
}

/** Whether the target has never known any of the keys, operators and sites of the backup. */
function isUnknown(replaced: KnownSystem, restored: KnownSystem): boolean {
  const namesIn = (system: KnownSystem) => [
    ...system.keys.map(({ record }) => record.Digest),
    ...system.operators.map(({ record }) => `operator ${record.Name}`),
    ...system.sites.map(({ record }) => `site ${record.Name}`),
  ];
  const known = new Set(namesIn(replaced));
  const restoredNames = namesIn(restored);
  return restoredNames.length > 0 && !restoredNames.some((name) => known.has(name));
}
