// Imports one site from a file (`import-site`): validates its beginning, reserves the site, stores the rows and completes the site.

import type { IpNetwork } from "../../lib/networks.ts";
import type { DumpedRow, Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { SiteRecord } from "../../system/system-records.ts";
import { readBackup } from "../backup/backup-format.ts";
import { removeIncompleteSite } from "../sites/site-removal.ts";
import { completeSiteImport, type ReservedSite, reserveSite, runWhileReserved } from "../sites/site-reservation.ts";
import { type RestrictedKey, restrictKeys } from "./removed-keys.ts";
import { readSiteFile, type SiteFile, validateSiteRows } from "./site-file-rows.ts";
import { parseKey, parseSettings } from "./site-file-settings.ts";
import { type OmittedWebhook, parseWebhooks, WebhookRows } from "./site-file-webhooks.ts";

interface ImportSiteOptions {
  /** The name of the new site; by default, the name in the file. */
  readonly name?: string | undefined;
  readonly withoutKeys?: boolean | undefined;
  /** Networks that webhooks may reach although they are not public; none by default. */
  readonly webhookAllow?: readonly IpNetwork[] | undefined;
  /** Stops the import. Nothing of the site remains. */
  readonly signal?: AbortSignal | undefined;
  /** Returns the present time in milliseconds since 1970. */
  readonly now: () => number;
}

interface ImportedSite {
  readonly site: SiteRecord;
  readonly keys: number;
  /** Imported webhooks. All of them are paused. */
  readonly webhooks: number;
  /** Records, including deleted ones: their IDs are not used again. */
  readonly records: number;
  readonly changes: number;
  /** Hostnames that were left out, because another site has them. */
  readonly takenHostnames: readonly string[];
  /** Prefixes of the keys that were left out, because another site has them. */
  readonly takenKeys: readonly string[];
  /** Whether the site was the default site in the file, but is not here, because another site is. */
  readonly takenDefault: boolean;
  /** Keys that were restricted in this database before their site was removed. They are restricted in the same way. */
  readonly restrictedKeys: readonly RestrictedKey[];
  /** Webhooks that were left out, because their URLs are not allowed here. */
  readonly omittedWebhooks: readonly OmittedWebhook[];
}

/**
 * Imports the site in `file` (`-` for standard input), with a new ID and a new epoch. So a version of a record from the old site is not accepted.
 * @throws ProblemError `bad-request` or `invalid-record` if the file is damaged, `conflict` if the name is taken or the site is removed at the same
 * time; then nothing of the site remains
 */
export async function importSite(engine: Engine, file: string, options: ImportSiteOptions): Promise<ImportedSite> {
  const { name, withoutKeys, webhookAllow = [], signal, now } = options;
  const rows = readBackup("storefront-site", file);
  try {
    const found = await readSiteFile(rows);
    const settings = parseSettings(found.site, name);
    const { keys, restricted } = await restrictKeys(engine, withoutKeys ? [] : found.keys.map(parseKey));
    const { webhooks, omitted: omittedWebhooks } = await parseWebhooks(found.webhooks, webhookAllow, now());
    const reserved = await reserveSite(engine, settings.name, { keys, webhooks }, now());
    try {
      const stored = await runWhileReserved(engine, reserved.id, now, () => fill(engine, found, reserved, signal));
      const published = await completeSiteImport(engine, reserved.id, settings, now());
      const owned = { keys: reserved.keyIds.size, webhooks: reserved.webhookIds.size };
      const restrictedKeys = restricted.filter(({ name: prefix }) => !reserved.takenKeys.includes(prefix));
      return { ...published, ...stored, ...owned, takenKeys: reserved.takenKeys, restrictedKeys, omittedWebhooks };
    } catch (error) {
      // If the site cannot be removed now, `completeRemovals` does so later.
      await removeIncompleteSite(engine, reserved.id, now()).catch(() => {});
      throw error;
    }
  } finally {
    await rows.return(undefined);
  }
}

async function fill(
  engine: Engine,
  file: SiteFile,
  { id, keyIds, webhookIds }: ReservedSite,
  signal: AbortSignal | undefined,
) {
  const uses = new Map<number, number>();
  const webhooks = new WebhookRows(webhookIds);
  const counts = { records: 0, changes: 0 };
  const addBeside = ({ table, row }: DumpedRow) => {
    if (table === "key_uses") uses.set(row.key_id as number, row.at as number);
    else webhooks.add({ table, row });
  };
  async function* rows() {
    for await (const row of validateSiteRows(file, id, keyIds, addBeside)) {
      if (signal?.aborted) throw new ProblemError("conflict", "the import was stopped; nothing is left of it");
      if (row.table === "records") counts.records++;
      else if (row.table === "journal") counts.changes++;
      yield row;
    }
  }
  if (file.state) await engine.importSiteRows(id, rows());
  else for await (const _ of rows());
  if (uses.size > 0) await engine.saveKeyUses(uses);
  await webhooks.store(engine, id);
  return counts;
}
