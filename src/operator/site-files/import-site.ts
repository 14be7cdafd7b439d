import type { IpNetwork } from "../../lib/networks.ts";
import type { DumpedRow, Engine } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";
import { readBackup } from "../backup-format.ts";
import { type RestrictedKey, restrictKeys } from "../restrictions.ts";
import { removeImport } from "../site-removal.ts";
import type { SiteRecord } from "../sites.ts";
import { readSiteFile, type SiteFile, toSiteRows } from "./site-file-rows.ts";
import {
  type ClaimedSite,
  claimSite,
  type OmittedWebhook,
  publishSite,
  readKey,
  readSettings,
  readWebhooks,
  WebhookRows,
  whileClaimed,
} from "./site-reservation.ts";

interface ImportSiteOptions {
  /** The name of the new site; by default that in the file. */
  readonly name?: string | undefined;
  readonly withoutKeys?: boolean | undefined;
  /** Networks that webhooks may be in although they are not public; none by default. */
  readonly webhookAllow?: readonly IpNetwork[] | undefined;
  /** Ends the import, which then leaves nothing. */
  readonly signal?: AbortSignal | undefined;
  /** The present time in milliseconds since 1970. */
  readonly now: () => number;
}

interface ImportedSite {
  readonly site: SiteRecord;
  readonly keys: number;
  /** All of them are paused. */
  readonly webhooks: number;
  /** Including deleted records, whose IDs are not used again. */
  readonly records: number;
  readonly changes: number;
  /** What is left out, because another site has it. The keys by their prefixes. */
  readonly takenHostnames: readonly string[];
  readonly takenKeys: readonly string[];
  readonly takenDefault: boolean;
  /** Keys that had been restricted here before their site was removed, and stay so. */
  readonly restrictedKeys: readonly RestrictedKey[];
  /** Webhooks that are left out, since their URLs are not allowed here. */
  readonly omittedWebhooks: readonly OmittedWebhook[];
}

/**
 * Imports the site in `file` (`-` for standard input), with a new ID and a new history: no version of a record from elsewhere is accepted.
 * @throws Refusal `bad-request` or `invalid-record` when the file is damaged, `conflict` when the name is taken or the site is removed
 *   meanwhile; then nothing of it is left
 */
export async function importSite(engine: Engine, file: string, options: ImportSiteOptions): Promise<ImportedSite> {
  const { name, withoutKeys, webhookAllow = [], signal, now } = options;
  const rows = readBackup("storefront-site", file);
  try {
    const found = await readSiteFile(rows);
    const settings = readSettings(found.site, name);
    const { keys, restricted } = await restrictKeys(engine, withoutKeys ? [] : found.keys.map(readKey));
    const { webhooks, omitted: omittedWebhooks } = await readWebhooks(found.webhooks, webhookAllow, now());
    const claimed = await claimSite(engine, settings.name, { keys, webhooks }, now());
    try {
      const stored = await whileClaimed(engine, claimed.id, now, () => fill(engine, found, claimed, signal));
      const published = await publishSite(engine, claimed.id, settings, now());
      const owned = { keys: claimed.keyIds.size, webhooks: claimed.webhookIds.size };
      const restrictedKeys = restricted.filter(({ name: prefix }) => !claimed.takenKeys.includes(prefix));
      return { ...published, ...stored, ...owned, takenKeys: claimed.takenKeys, restrictedKeys, omittedWebhooks };
    } catch (error) {
      // If it cannot be removed now, `finishRemovals` does that later.
      await removeImport(engine, claimed.id, now()).catch(() => {});
      throw error;
    }
  } finally {
    await rows.return(undefined);
  }
}

async function fill(
  engine: Engine,
  file: SiteFile,
  { id, keyIds, webhookIds }: ClaimedSite,
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
    for await (const row of toSiteRows(file, id, keyIds, addBeside)) {
      if (signal?.aborted) throw new Refusal("conflict", "the import was stopped; nothing is left of it");
      if (row.table === "records") counts.records++;
      else if (row.table === "journal") counts.changes++;
      yield row;
    }
  }
  if (file.state) await engine.fillSite(id, rows());
  else for await (const _ of rows());
  if (uses.size > 0) await engine.noteKeyUse(uses);
  await webhooks.store(engine, id);
  return counts;
}
