// The audit log: the system site's journal as operators read it, in the console and with `storefront journal --system`. It has the changes to
// keys, webhooks, operators and sites, and the events (events.ts).

import type { JournalEntry } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { toDeclaredJson } from "../../model/record.ts";
import { systemSite } from "../../model/system-site.ts";
import { event as eventResource } from "../../resources/event.ts";
import { key as keyResource } from "../../resources/key.ts";
import { operator as operatorResource } from "../../resources/operator.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import type { SiteRecord, SystemRecords } from "../../system/system-records.ts";
import { canManage, hasRight, type ListedOperator } from "../operators/operators.ts";
import { withoutSecrets } from "../webhooks/url-secrets.ts";
import type { EventKind } from "./events.ts";
import { readHistory } from "./history.ts";
import { withoutDigest } from "./history-csv.ts";
import type { EntryFilter } from "./journal-entries.ts";

/** What an operator can choose to see. */
export const logSubjects = [
  "keys",
  "webhooks",
  "operators",
  "sites",
  "sign-ins",
  "refusals",
  "imports",
  "exports",
  "backups",
] as const;

export type LogSubject = (typeof logSubjects)[number];

const subjectsOfEvents: Readonly<Record<EventKind, LogSubject>> = {
  "sign-in": "sign-ins",
  "sign-out": "sign-ins",
  link: "sign-ins",
  "refused-sign-in": "refusals",
  "refused-action": "refusals",
  import: "imports",
  "import-site": "imports",
  export: "exports",
  "export-site": "exports",
  backup: "backups",
  restore: "backups",
  copy: "backups",
};

const systemResources = [keyResource, webhookResource, operatorResource, siteResource, eventResource];

const subjectsOfRecords: Readonly<Record<string, LogSubject>> = {
  [keyResource.name]: "keys",
  [webhookResource.name]: "webhooks",
  [operatorResource.name]: "operators",
  [siteResource.name]: "sites",
};

/** A change to a record, or an event. */
export interface LogEntry extends JournalEntry {
  /** Undefined if only another version of the program knows it. */
  readonly subject: LogSubject | undefined;
  /** ID of the site it's about. */
  readonly site: number | undefined;
}

interface LogQuery {
  readonly subject?: LogSubject | undefined;
  /** As in `EntryFilter`. */
  readonly actor?: string | undefined;
  /** Only what's about this site, by ID. */
  readonly site?: number | undefined;
}

interface LogPageQuery extends LogQuery {
  readonly since?: number | undefined;
  readonly before: number | undefined;
  readonly limit: number;
}

/**
 * Reads a page of the log, latest entry first.
 * @returns `next` is `before` for the next page; undefined if this is the last one
 */
export async function readLogPage(
  engine: Engine,
  reader: LogReader,
  { since, before, limit, ...query }: LogPageQuery,
): Promise<{ readonly entries: readonly LogEntry[]; readonly next: number | undefined }> {
  const page = { since, before, limit, isGrouped: false };
  const { entries, next } = await readHistory(engine, systemSite, { ...reader.filterOf(query), ...page });
  return { entries: entries.map(({ change }) => reader.toLogEntry(change)), next };
}

/**
 * What an operator can see of the log: what's about sites they can manage, and their own sign-ins. Whoever can manage all operators sees everything,
 * and so does the command line.
 */
export class LogReader {
  readonly #operator: ListedOperator | undefined;
  readonly #sites: readonly SiteRecord[];

  /** @param operator undefined for the command line */
  constructor({ sites }: Pick<SystemRecords, "sites">, operator: ListedOperator | undefined) {
    this.#operator = operator;
    this.#sites = sites;
  }

  filterOf({ subject, actor, site }: LogQuery) {
    const condition = (entry: JournalEntry) =>
      (subject === undefined || subjectOf(entry) === subject) &&
      (site === undefined || siteIdOf(entry) === site) &&
      this.#canSee(entry);
    return { actor, condition } satisfies EntryFilter;
  }

  /** Leaves out secrets, and what only another version of the program knows. */
  toLogEntry(stored: JournalEntry): LogEntry {
    const entry = toShownEvent(stored);
    const resource = systemResources.find(({ name }) => name === entry.resource);
    const toShown = (json: string) => {
      const shown = resource
        ? withoutDigest(resource === eventResource ? json : toDeclaredJson(resource, json))
        : { ID: entry.id };
      const { URL: url } = shown as { readonly URL?: string };
      return JSON.stringify(url && this.#hidesUrls ? { ...shown, URL: withoutSecrets(url) } : shown);
    };
    return {
      ...entry,
      before: entry.before === null ? null : toShown(entry.before),
      body: toShown(entry.body),
      subject: subjectOf(entry),
      site: siteIdOf(entry),
    };
  }

  get #hidesUrls(): boolean {
    return this.#operator !== undefined && !hasRight(this.#operator, "settings");
  }

  #canSee(entry: JournalEntry): boolean {
    const operator = this.#operator;
    if (!operator) return true;
    const isOfAllSites = operator.siteNames === undefined;
    if (isOfAllSites && hasRight(operator, "settings")) return true;
    const subject = subjectOf(entry);
    if (subject === "sign-ins" || subject === "refusals") return valuesOf(entry).Operator === String(operator.ID);
    if (subject === "operators") return isOfAllSites;
    const id = siteIdOf(entry);
    if (subject === undefined || id === undefined) return false;
    return canManage(operator, this.#sites.find(({ ID }) => ID === id) ?? { ID: id, SandboxOf: "" });
  }
}

/** An event has no state before: it overwrites an unrelated one, only to save space. Leaves other entries unchanged. */
export function toShownEvent(entry: JournalEntry): JournalEntry {
  if (entry.resource !== eventResource.name) return entry;
  const { At: _, UID: __, ...shown } = JSON.parse(entry.body);
  return { ...entry, operation: "create", before: null, body: JSON.stringify(shown) };
}

/** Returns what isn't empty, as in `Kind import, Name suppliers.csv, Site 1, Resource brands, Created 3, Updated 2, Removed 0, Rejected 0`. */
export function describeEvent(json: string): string {
  const { ID: _, Operator: __, ...values } = JSON.parse(json) as Record<string, string>;
  return Object.entries(values)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

function subjectOf(entry: JournalEntry): LogSubject | undefined {
  if (entry.resource !== eventResource.name) return subjectsOfRecords[entry.resource];
  return subjectsOfEvents[valuesOf(entry).Kind as EventKind];
}

function siteIdOf(entry: JournalEntry): number | undefined {
  return entry.resource === siteResource.name ? entry.id : Number(valuesOf(entry).Site) || undefined;
}

function valuesOf({ body }: JournalEntry): Readonly<Record<string, string>> {
  return JSON.parse(body);
}
