// Exports a site to a file (`export-site`).

import type { DumpedRow, Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { systemSite } from "../../model/system-site.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { isUsableEpoch } from "../../store/database/site-state.ts";
import type { SiteRecord, WebhookRecord } from "../../system/system-records.ts";
import { toBackupLines, writeBackupFile } from "../backup/backup-format.ts";
import { type ListedKey, listKeys, toKeyRecord } from "../sites/keys.ts";
import { nameOfLiveSite } from "../sites/sandboxes.ts";
import { getSite, listSites } from "../sites/sites.ts";
import { listWebhooks, toWebhookRecord } from "../webhooks/webhook-list.ts";

interface ExportedSite {
  readonly site: SiteRecord;
  readonly keys: number;
  readonly webhooks: number;
  /** Includes deleted records, whose IDs are in the file so that they're never reused. */
  readonly records: number;
  readonly changes: number;
}

/**
 * Writes a consistent snapshot of a site to `file` (see `writeFile`): its record, keys, webhooks, records and journal, and the responses kept for
 * idempotency keys. Only the file's owner can read it, because it has key digests and webhook secrets.
 * @throws ProblemError `not-found`, or `conflict` for a sandbox, or if the site is removed in the meantime
 */
export async function exportSite(engine: Engine, name: string, file: string, now: number): Promise<ExportedSite> {
  const site = await getSite(engine, name);
  rejectSandbox(site, await listSites(engine));
  const keys = await listKeys(engine, site);
  const webhooks = await listWebhooks(engine, site);
  const counts: Record<string, number> = {};
  const count = ({ table }: DumpedRow) => {
    counts[table] = (counts[table] ?? 0) + 1;
  };
  const rows = rowsOf(engine, site, keys, webhooks.map(toWebhookRecord));
  await writeBackupFile(
    "storefront-site",
    file,
    toBackupLines("storefront-site", rows, { made: now, database: undefined }, count),
  );
  const { records = 0, journal: changes = 0 } = counts;
  const owned = { keys: keys.length, webhooks: webhooks.length };
  return { site, ...owned, records: records - 1 - keys.length - webhooks.length, changes };
}

/** @throws ProblemError `conflict` for a sandbox */
function rejectSandbox(site: SiteRecord, sites: readonly SiteRecord[]): void {
  if (site.SandboxOf === "") return;
  const live = nameOfLiveSite(site, sites);
  throw new ProblemError(
    "conflict",
    `\`${site.Name}\` is a sandbox, which can't be exported; export \`${live}\` instead`,
  );
}

/** The row of `sites`, if the site was ever written to, then its records in the system site, then the other rows in the order of a dump. */
async function* rowsOf(
  engine: Engine,
  site: SiteRecord,
  keys: readonly ListedKey[],
  webhooks: readonly WebhookRecord[],
): AsyncGenerator<DumpedRow> {
  const rows = iterate(engine.dump(site.ID));
  const first = await rows.next();
  const hasState = !first.done && first.value.table === "sites";
  if (hasState && !isUsableEpoch(String(first.value.row.epoch)))
    throw new ProblemError("conflict", `the site \`${site.Name}\` was removed during the export`);
  if (hasState && Number(first.value.row.revision) > 0) yield first.value;
  yield toSystemRow(siteResource, site);
  for (const key of keys) yield toSystemRow(keyResource, toKeyRecord(key));
  for (const webhook of webhooks) yield toSystemRow(webhookResource, webhook);
  if (!first.done && !hasState) yield first.value;
  yield* rows;
  for (const { ID, lastUsed } of keys)
    if (lastUsed) yield { table: "key_uses", row: { key_id: ID, at: lastUsed.getTime() } };
}

async function* iterate(rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>): AsyncGenerator<DumpedRow> {
  yield* rows;
}

/** Revision 0, because the system site's journal isn't exported. */
function toSystemRow({ name }: Resource, record: { readonly ID: number }): DumpedRow {
  const body = JSON.stringify(record);
  return { table: "records", row: { site_id: systemSite, resource: name, id: record.ID, revision: 0, body } };
}
