// Remembers what was revoked, in the table `restrictions`. A restore replaces the records of keys, operators, webhooks and sites, along with
// everything that was restricted since the backup. This table outlives it.
//
// Each row is the latest decision about one limit: this key was revoked or given a rate, this operator was removed, this secret was rotated. Lifting
// a limit is a decision too, such as resuming a webhook or adding an operator back, and the latest one counts. So a restore or copy can merge two
// tables by time, in either order (`carryRestrictions`). A restore then applies the result to what it restored (operator/backup/restrictions.ts).
//
// Invariants:
// - A decision is recorded in the transaction that makes it. Apart from secret rotation, all decisions are derived from the system site's journal
//   entries, so no caller can forget one (`recordRestrictions`).
// - Names outlast IDs: after a restore, an ID can go to another record.
// - Secrets are only stored as digests.
// - Rows last 400 days, and there are at most 100,000. Beyond that, the oldest go, and `knownSince` says since when the table is complete.

import { createHash } from "node:crypto";
import type { RecordedRestriction } from "../../model/amend.ts";
import type { JournalEntry } from "../../model/change.ts";
import {
  keyResourceName,
  operatorResourceName,
  siteResourceName,
  systemSite,
  webhookResourceName,
} from "../../model/system-site.ts";
import type { WebhookSecret } from "../../model/webhooks.ts";
import { type TableSet, tableNameIn } from "./table-swap.ts";
import { columnsOf } from "./tables.ts";
import { execute, findByKeys, query, type Transaction, upsert } from "./transaction.ts";

/** 400 days, to cover a yearly backup. */
const restrictionsKeptMs = 400 * 24 * 60 * 60_000;
/** Some 30 MB. An operator's action adds a few rows at most. */
const maxRestrictions = 100_000;
/** How many are left when there were too many, so that the next decisions needn't delete any. */
const restrictionsLeft = 90_000;

/** The limits of each resource, with the value that means no limit. A webhook always has a URL. */
const limits: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [keyResourceName]: { Revoked: "", Expires: "", Rate: "", Scope: "write webhooks:write", Networks: "" },
  [operatorResourceName]: { Sites: "", Role: "" },
  [webhookResourceName]: { URL: "", Paused: "", Reason: "", PausedBy: "" },
  [siteResourceName]: { Suspended: "", KeyWebhooks: "" },
};

/** `yes` if an operator or a webhook was removed, or a secret rotated. */
export const removedField = "Removed";
/** For a key: the key it replaced by rotation, and its own record, so that restoring the old key can bring it along. */
export const replacesField = "Replaces";
export const secretKind = "secret";
/** A database that `copy` copied into this one, with everything it knew at the time. */
export const copiedKind = "copied";
/** A database that was restored by other means, and so may have lost decisions, before it was given new epochs. */
export const renewedKind = "renewed";

/** The value of `replacesField`. */
export interface Replacement {
  readonly digest: string;
  readonly record: object;
}

/** Returns a record's limits by field. */
export function limitsIn(resource: string, record: object): Record<string, string> {
  return Object.fromEntries(Object.keys(limits[resource] ?? {}).map((field) => [field, textIn(record, field)]));
}

/** Returns a name for the record that stays the same in every backup and site file. */
export function lastingName(resource: string, record: object): string {
  if (resource === keyResourceName) return textIn(record, "Digest");
  if (resource === operatorResourceName) return textIn(record, "Name");
  return textIn(record, "UID");
}

export function digestOfSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Returns since when a table with these rows has every decision, in milliseconds since 1970. */
export function knownSince(restrictions: readonly RecordedRestriction[], now: number): number {
  const oldestKept = now - restrictionsKeptMs;
  if (restrictions.length < restrictionsLeft) return oldestKept;
  return restrictions.reduce((oldest, { at }) => Math.min(oldest, at), now);
}

type SystemEntry = JournalEntry & { readonly site_id: number };

function restrictionsIn(entries: readonly SystemEntry[]): RecordedRestriction[] {
  const changes = entries
    .filter(({ site_id }) => site_id === systemSite)
    .map((entry) => ({ entry, record: JSON.parse(entry.body) as object }));
  const removedSites = changes
    .filter(({ entry }) => entry.resource === siteResourceName && entry.operation === "delete")
    .map(({ entry }) => String(entry.id));
  const endedKeys = changes
    .filter(({ entry }) => entry.resource === keyResourceName && entry.operation === "update")
    .map(({ record }) => record);
  const fieldsOf = (entry: SystemEntry, record: object): Record<string, string> => {
    if (entry.operation === "create") return fieldsOfCreate(entry, record, endedKeys);
    if (entry.operation === "update") return changedFields(entry, record);
    const isRemovable = entry.resource === operatorResourceName || entry.resource === webhookResourceName;
    // Removing a site restricts nothing: a restore is meant to bring it back, with its keys and webhooks.
    return isRemovable && !removedSites.includes(textIn(record, "Site")) ? { [removedField]: "yes" } : {};
  };
  return changes.flatMap(({ entry, record }) => {
    const { resource: kind, at } = entry;
    const name = lastingName(kind, record);
    return Object.entries(fieldsOf(entry, record)).map(([field, value]) => ({ kind, name, field, value, at }));
  });
}

function fieldsOfCreate(
  { resource, at }: SystemEntry,
  record: object,
  endedKeys: readonly object[],
): Record<string, string> {
  // A removed operator may have had this name. This lifts or replaces their limits.
  if (resource === operatorResourceName) return { [removedField]: "", ...limitsIn(resource, record) };
  const [former] = textIn(record, "Former").split(" ");
  const replaced = endedKeys.find(
    (key) => textIn(key, "Prefix") === former && textIn(key, "Site") === textIn(record, "Site"),
  );
  const replacement: Replacement | undefined = replaced && { digest: textIn(replaced, "Digest"), record };
  // An imported key or webhook may exist elsewhere with wider rights, such as in an older site file. A new one can't.
  const isImported = Date.parse(textIn(record, "Created")) !== at;
  const narrow = Object.entries(limitsIn(resource, record)).filter(
    ([field, value]) => isImported && field !== "URL" && value !== limits[resource]?.[field],
  );
  return {
    ...Object.fromEntries(narrow),
    ...(replacement && { [replacesField]: JSON.stringify(replacement) }),
  };
}

function changedFields({ resource, before }: SystemEntry, record: object): Record<string, string> {
  const [was, is] = [limitsIn(resource, JSON.parse(before ?? "{}")), limitsIn(resource, record)];
  return Object.fromEntries(Object.entries(is).filter(([field, value]) => value !== was[field]));
}

/** Empty if the record doesn't have the field. */
export function textIn(record: object, field: string): string {
  return String((record as Readonly<Record<string, unknown>>)[field] ?? "");
}

const columns = columnsOf("restrictions").join(", ");

export function* readRestrictions(): Transaction<readonly RecordedRestriction[]> {
  return (yield query(`select ${columns} from restrictions`)) as unknown as readonly RecordedRestriction[];
}

/** Call it in the transaction that stores the entries. */
export function* recordRestrictions(entries: readonly SystemEntry[]): Transaction<void> {
  yield* saveRestrictions(restrictionsIn(entries));
}

/** Records that all of a webhook's secrets but the current one were replaced. */
export function* recordRotation(secrets: readonly WebhookSecret[]): Transaction<void> {
  const replaced = secrets.filter(({ until }) => until !== null);
  const at = Math.max(0, ...secrets.map(({ createdAt }) => createdAt));
  yield* saveRestrictions(
    replaced.map(({ secret }) => ({
      kind: secretKind,
      name: digestOfSecret(secret),
      field: removedField,
      value: "yes",
      at,
    })),
  );
}

/** Saves decisions as the latest about their limits, whatever the clock says. @param now milliseconds since 1970 */
export function* saveRestrictions(decided: readonly RecordedRestriction[], now = Date.now()): Transaction<void> {
  if (decided.length === 0) return;
  const last = new Map((yield* withSiteNames(decided)).map((row) => [keyOf(row), row]));
  const keys = [...last.values()].map(({ kind, name, field }) => ({ kind, name, field }));
  const earlier = (yield findByKeys("restrictions", keys)) as unknown as readonly RecordedRestriction[];
  const times = new Map(earlier.map((row) => [keyOf(row), row.at]));
  const rows = [...last].map(([key, row]) => ({ ...row, at: Math.max(row.at, (times.get(key) ?? 0) + 1) }));
  const [all] = yield query("select count(*) as count, min(at) as oldest, max(at) as newest from restrictions");
  yield upsert("restrictions", rows);
  // A wrong clock mustn't make the table forget everything, so age is relative to the newest earlier row, if that's before `now`.
  const end = Math.min(Number(all?.newest ?? 0), now) - restrictionsKeptMs;
  if (Number(all?.oldest ?? end) < end) yield execute("delete from restrictions where at < :end", { end });
  if (Number(all?.count) + rows.length <= maxRestrictions) return;
  const oldestKept = `select at from restrictions order by at desc limit 1 offset ${restrictionsLeft - 1}`;
  yield execute(`delete from restrictions where at < (${oldestKept})`);
}

/** Adds the replaced table's rows to the restored one. Runs in the transaction that swapped them. */
export function* carryRestrictions(replaced: TableSet): Transaction<void> {
  yield execute(`insert into restrictions (${columns}) select ${columns} from ${tableNameIn(replaced, "restrictions")} where true
on conflict (kind, name, field) do update set value = excluded.value, at = excluded.at where excluded.at >= restrictions.at`);
}

/** Replaces the IDs of an operator's sites with names that outlast a restore. @param names by ID */
export function toSiteNames(ids: string, names: ReadonlyMap<string, string>): string {
  if (ids === "") return "";
  // A removed site stays in the list, because an empty list means all sites. Names can't start with "#".
  const named = ids.split(" ").map((id) => names.get(id) ?? `#${id}`);
  return named.join(" ");
}

function* withSiteNames(rows: readonly RecordedRestriction[]): Transaction<readonly RecordedRestriction[]> {
  const isOfSites = ({ kind, field, value }: RecordedRestriction) =>
    kind === operatorResourceName && field === "Sites" && value !== "";
  if (!rows.some(isOfSites)) return rows;
  const sites = yield query(
    `select id, body from records where site_id = ${systemSite} and resource = '${siteResourceName}' and body is not null`,
  );
  const names = new Map(
    sites.map(({ id, body }) => [String(id), lastingName(siteResourceName, JSON.parse(String(body)))]),
  );
  return rows.map((row) => (isOfSites(row) ? { ...row, value: toSiteNames(row.value, names) } : row));
}

export function keyOf({ kind, name, field }: Omit<RecordedRestriction, "at" | "value">): string {
  return JSON.stringify([kind, name, field]);
}
