// Imports a site from a file (`import-site`): validates the start of the file, reserves a site, stores the rows and completes the site.

import type { IpNetwork } from "../../lib/networks.ts";
import type { DumpedRow, Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import type { KeyRecord, SiteRecord } from "../../system/system-records.ts";
import { readBackup } from "../backup/backup-format.ts";
import { narrowedValues, RecordedLimits } from "../backup/recorded-limits.ts";
import type { Restriction } from "../backup/restrictions.ts";
import { removeIncompleteSite } from "../sites/site-removal.ts";
import { completeSiteImport, type ReservedSite, reserveSite, runWhileReserved } from "../sites/site-reservation.ts";
import { readSiteFile, type SiteFile, validateSiteRows } from "./site-file-rows.ts";
import { type ImportedKey, parseKey, parseSettings } from "./site-file-settings.ts";
import { type ImportedWebhook, type OmittedWebhook, parseWebhooks, WebhookRows } from "./site-file-webhooks.ts";

interface ImportSiteOptions {
  /** By default, the name in the file. */
  readonly name?: string | undefined;
  readonly withoutKeys?: boolean | undefined;
  /** Networks that webhooks can reach besides public ones. */
  readonly webhookAllow?: readonly IpNetwork[] | undefined;
  /** Stops the import. Nothing is kept. */
  readonly signal?: AbortSignal | undefined;
  /** In milliseconds since 1970. */
  readonly now: () => number;
}

interface ImportedSite {
  readonly site: SiteRecord;
  readonly keys: number;
  /** All of them are paused. */
  readonly webhooks: number;
  /** Includes deleted records, whose IDs are never reused. */
  readonly records: number;
  readonly changes: number;
  /** Skipped hostnames that another site has. */
  readonly takenHostnames: readonly string[];
  /** Prefixes of skipped keys that this database already has. */
  readonly takenKeys: readonly string[];
  /** Whether the site would be the default site, but another one already is. */
  readonly takenDefault: boolean;
  /** Keys that were restricted in this database, and still are. */
  readonly restrictedKeys: readonly RestrictedKey[];
  /** Skipped webhooks that were removed from this database, or whose URLs aren't allowed here. */
  readonly omittedWebhooks: readonly OmittedWebhook[];
  /** Webhooks whose URL was changed or whose secret was rotated in this database. */
  readonly restrictedWebhooks: readonly RestrictedWebhook[];
  /** Whether the site is only suspended because it was in this database. */
  readonly staysSuspended: boolean;
}

export type RestrictedKey = Pick<Restriction, "name" | "change">;

/** `changed`: has the URL it was given in this database. `unsigned`: has a new secret that nobody knows. */
interface RestrictedWebhook {
  readonly url: string;
  readonly change: "changed" | "unsigned";
}

/**
 * Imports the site in `file` (`-` for standard input) with a new ID and a new epoch, so that record versions from the old site aren't accepted. If it
 * fails, nothing is kept.
 * @throws ProblemError `bad-request` or `invalid-record` if the file is damaged, `conflict` if the name is taken or the site is removed in the meantime
 */
export async function importSite(engine: Engine, file: string, options: ImportSiteOptions): Promise<ImportedSite> {
  const { name, withoutKeys, webhookAllow: allow = [], signal, now } = options;
  const rows = readBackup("storefront-site", file);
  try {
    const found = await readSiteFile(rows);
    const [{ epoch }] = (await engine.readHeads([systemSite])) as [Head];
    const limits = new RecordedLimits(await engine.readRestrictions());
    const parsed = parseSettings(found.site, name);
    const { Suspended = "", KeyWebhooks = "" } = limits.of(siteResource.name, found.site.values);
    const [suspended, keyWebhooks] = [parsed.suspended || Suspended, parsed.keyWebhooks || KeyWebhooks];
    const settings = { ...parsed, suspended, keyWebhooks };
    const { keys, restrictedKeys } = restrictKeys(withoutKeys ? [] : found.keys.map(parseKey), limits);
    const { webhooks, omitted: omittedWebhooks } = await parseWebhooks(found.webhooks, { allow, limits }, now());
    const reserved = await reserveSite(engine, settings, { keys, webhooks }, epoch, now());
    try {
      const { unsigned, ...stored } = await runWhileReserved(engine, reserved.id, now, () =>
        fill(engine, found, reserved, limits, signal),
      );
      const published = await completeSiteImport(engine, reserved.id, settings, now());
      return {
        ...published,
        ...stored,
        keys: reserved.keyIds.size,
        webhooks: reserved.webhookIds.size,
        takenKeys: reserved.takenKeys,
        restrictedKeys: restrictedKeys.filter(({ name: prefix }) => !reserved.takenKeys.includes(prefix)),
        omittedWebhooks,
        restrictedWebhooks: restrictedWebhooks(found, webhooks, unsigned),
        staysSuspended: settings.suspended !== parsed.suspended,
      };
    } catch (error) {
      // If this fails, `completeRemovals` removes the site later.
      await removeIncompleteSite(engine, reserved.id, now()).catch(() => {});
      throw error;
    }
  } finally {
    await rows.return(undefined);
  }
}

/** Applies restrictions made in this database to the keys in the file. */
function restrictKeys(keys: readonly ImportedKey[], limits: RecordedLimits) {
  const restrictedKeys: RestrictedKey[] = [];
  const restricted = keys.map((key) => {
    const record = key.values as unknown as KeyRecord;
    const values = record.Revoked
      ? undefined
      : narrowedValues(keyResource, record, [limits.of(keyResource.name, record)]);
    if (!values) return key;
    restrictedKeys.push({ name: record.Prefix, change: values.Revoked ? "revoked" : "narrowed" });
    return { ...key, values: { ...key.values, ...values } };
  });
  return { keys: restricted, restrictedKeys };
}

/** @param unsigned webhooks that got a new secret, by their IDs in the file */
function restrictedWebhooks(
  file: SiteFile,
  webhooks: readonly ImportedWebhook[],
  unsigned: readonly number[],
): RestrictedWebhook[] {
  const before = new Map(file.webhooks.map(({ id, values }) => [id, values.URL]));
  return webhooks.flatMap(({ id, values }): RestrictedWebhook[] => {
    const url = String(values.URL);
    return [
      ...(before.get(id) === url ? [] : [{ url, change: "changed" } as const]),
      ...(unsigned.includes(id) ? [{ url, change: "unsigned" } as const] : []),
    ];
  });
}

async function fill(
  engine: Engine,
  file: SiteFile,
  { id, keyIds, webhookIds }: ReservedSite,
  limits: RecordedLimits,
  signal: AbortSignal | undefined,
) {
  const uses = new Map<number, number>();
  const webhooks = new WebhookRows(webhookIds, limits);
  const counts = { records: 0, changes: 0 };
  const addBeside = ({ table, row }: DumpedRow) => {
    if (table === "key_uses") uses.set(row.key_id as number, row.at as number);
    else webhooks.add({ table, row });
  };
  async function* rows() {
    for await (const row of validateSiteRows(file, id, keyIds, addBeside)) {
      if (signal?.aborted) throw new ProblemError("conflict", "the import was stopped; nothing was kept");
      if (row.table === "records") counts.records++;
      else if (row.table === "journal") counts.changes++;
      yield row;
    }
  }
  if (file.state) await engine.importSiteRows(id, rows());
  else for await (const _ of rows());
  if (uses.size > 0) await engine.saveKeyUses(uses);
  const unsigned = await webhooks.store(engine, id);
  return { ...counts, unsigned };
}
