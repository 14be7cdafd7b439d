// Exports one site to a file (`export-site`).

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

/** The site and the number of its rows in the file. */
interface ExportedSite {
  readonly site: SiteRecord;
  readonly keys: number;
  readonly webhooks: number;
  /** Records, including deleted ones: the file contains their IDs, so that these are not used again. */
  readonly records: number;
  readonly changes: number;
}

/**
 * Writes all data of a site to `file` (see `writeFile`), as of one moment: its record, keys, webhooks, records, journal, and the responses for
 * idempotency keys. `importSite` reads the file. Only the owner may read it, because it contains the digests of the keys and the secrets of webhooks.
 * @throws ProblemError `not-found`, or `conflict` for a sandbox, or if the site is removed at the same time
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
  const why = "a file never has a sandbox";
  throw new ProblemError("conflict", `\`${site.Name}\` is the sandbox of \`${live}\`, and ${why}: export \`${live}\``);
}

/** Returns the row of `sites`, if the site was ever written to, then the records of the system site, then the other rows in the order of a dump. */
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
    throw new ProblemError("conflict", `the site \`${site.Name}\` was removed meanwhile`);
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

/** Returns a row for a record of the system site. Its revision is 0, because the journal of the system site is not exported. */
function toSystemRow({ name }: Resource, record: { readonly ID: number }): DumpedRow {
  const body = JSON.stringify(record);
  return { table: "records", row: { site_id: systemSite, resource: name, id: record.ID, revision: 0, body } };
}
