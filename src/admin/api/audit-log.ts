// The audit log: the system site's journal. It has every change to keys, webhooks, operators and sites, and who signed in, imported, exported and so on
// (operator/journal/events.ts).

import { byteOrderMark } from "../../formats/csv.ts";
import { parseNumber, parseSingle } from "../../http/common/parameters.ts";
import type { JournalEntry } from "../../model/change.ts";
import { ProblemError } from "../../model/errors.ts";
import { toDeclaredJson } from "../../model/record.ts";
import {
  keyResourceName,
  operatorResourceName,
  siteResourceName,
  systemSite,
  webhookResourceName,
} from "../../model/system-site.ts";
import { type EventKind, toShownEvent } from "../../operator/journal/events.ts";
import { readHistory } from "../../operator/journal/history.ts";
import { nameOf, toHistoryCsv, withoutDigest } from "../../operator/journal/history-csv.ts";
import { readEntries, selectEntries } from "../../operator/journal/journal-entries.ts";
import { canManage, hasRight } from "../../operator/operators/operators.ts";
import { withoutSecrets } from "../../operator/webhooks/url-secrets.ts";
import { allResources } from "../../resources/all.ts";
import { event as eventResource } from "../../resources/event.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import type { SiteRecord, SystemRecords } from "../../system/system-records.ts";
import type { Action, ActionContext, FileContent } from "../action-routes.ts";
import { collectFile, mediaTypes, recordDownload, toFile } from "./downloads.ts";
import { rangeIn } from "./history.ts";
import type { LogEntryInfo, LogResponse, LogSubjectInfo } from "./types.ts";

const log = "/operator/audit-log";

export const auditLogActions: readonly Action[] = [
  ["GET", log, "read-settings", list],
  ["GET", `${log}/export`, "read-settings", download],
];

/** By the resource of a change, or the kind of an event. */
const subjects: ReadonlyMap<string | undefined, LogSubjectInfo> = new Map<string, LogSubjectInfo>([
  [keyResourceName, "keys"],
  [webhookResourceName, "webhooks"],
  [operatorResourceName, "operators"],
  [siteResourceName, "sites"],
  ...Object.entries({
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
  } satisfies Record<EventKind, LogSubjectInfo>),
]);

/** Lists the entries before a revision, newest first. The query is `?subject=keys&actor=&site=garden&from=&to=&before=&limit=`. */
async function list(call: ActionContext): Promise<LogResponse> {
  const { query, engine } = call;
  const before = parseNumber(query, "before", { min: 1, byDefault: Number.POSITIVE_INFINITY });
  const limit = parseNumber(query, "limit", { min: 1, max: 200, byDefault: 100 });
  const system = await readSystemRecords(engine);
  const { since, until = Number.POSITIVE_INFINITY } = await rangeIn(call, systemSite);
  const page = { since, before: Math.min(before, until + 1), limit, isGrouped: false };
  const { entries, next } = await readHistory(engine, systemSite, { ...(await filterIn(call, system)), ...page });
  const labels = labelsOf(system);
  const siteNames = new Map(system.sites.map(({ ID, Name }) => [ID, Name]));
  const shown = entries.map(({ change }) => toInfo(toVisible(change, call), labels, siteNames));
  return { entries: shown, next: next ?? null };
}

/** Returns what `list` lists as CSV, oldest first, with a row per changed field. */
async function download(call: ActionContext): Promise<FileContent> {
  const { engine } = call;
  const system = await readSystemRecords(engine);
  const [filter, range] = [await filterIn(call, system), await rangeIn(call, systemSite)];
  async function* entries() {
    for await (const entry of selectEntries(readEntries(engine, systemSite, range), filter))
      yield toVisible(entry, call);
  }
  const csv = await collectFile(toHistoryCsv(entries(), labelsOf(system)), call, "the log");
  const name = "audit-log.csv";
  await recordDownload(call, { name });
  // With a byte order mark, so that Excel reads the file as UTF-8.
  return toFile([Buffer.from(byteOrderMark), ...csv], mediaTypes.csv, name);
}

/** Only selects what the operator can see, and what the query says. */
async function filterIn(call: ActionContext, { sites }: SystemRecords) {
  const { query } = call;
  const [subject, name] = [parseSingle(query, "subject"), parseSingle(query, "site")];
  const known = [...new Set(subjects.values())];
  if (subject !== undefined && !known.some((one) => one === subject))
    throw new ProblemError("bad-request", `\`subject\` must be one of ${known.join(", ")}`);
  const site = name === undefined ? undefined : (await call.sites()).find(({ Name }) => Name === name);
  if (name !== undefined && !site) throw new ProblemError("not-found", `there is no site \`${name.slice(0, 100)}\``);
  const sitesById = new Map(sites.map((one) => [one.ID, one]));
  const condition = (entry: JournalEntry) => {
    const about = toAbout(entry);
    return (
      (subject === undefined || about.subject === subject) &&
      (site === undefined || about.site === site.ID) &&
      canSee(call, about, sitesById)
    );
  };
  return { actor: parseSingle(query, "actor"), condition };
}

interface About {
  /** Undefined if only another version of the program knows it. */
  readonly subject: LogSubjectInfo | undefined;
  /** ID of the site it's about. */
  readonly site: number | undefined;
  /** ID of the operator an event is about. */
  readonly operator: number;
}

function toAbout({ resource, id, body }: JournalEntry): About {
  const { Kind, Site, Operator } = JSON.parse(body);
  return {
    subject: subjects.get(resource === eventResource.name ? Kind : resource),
    site: resource === siteResourceName ? id : Number(Site) || undefined,
    operator: Number(Operator),
  };
}

/** Whoever can manage all operators sees everything. Others see what's about sites they can manage, and their own sign-ins. */
function canSee(
  { session: { operator } }: ActionContext,
  about: About,
  sites: ReadonlyMap<number, SiteRecord>,
): boolean {
  const { subject, site: id } = about;
  const isOfAllSites = operator.siteNames === undefined;
  if (isOfAllSites && hasRight(operator, "settings")) return true;
  if (subject === "sign-ins" || subject === "refusals") return about.operator === operator.ID;
  if (subject === "operators") return isOfAllSites;
  if (subject === undefined || id === undefined) return false;
  return canManage(operator, sites.get(id) ?? { ID: id, SandboxOf: "" });
}

/** Leaves out secrets, and what only another version of the program knows. */
function toVisible(stored: JournalEntry, { session }: ActionContext): JournalEntry {
  const entry = toShownEvent(stored);
  const resource = allResources.find(({ name }) => name === entry.resource);
  const toShown = (json: string) => {
    const isEvent = resource === eventResource;
    const shown = resource ? withoutDigest(isEvent ? json : toDeclaredJson(resource, json)) : { ID: entry.id };
    const { URL: url } = shown as { readonly URL?: string };
    return JSON.stringify(
      url && !hasRight(session.operator, "settings") ? { ...shown, URL: withoutSecrets(url) } : shown,
    );
  };
  return { ...entry, before: entry.before === null ? null : toShown(entry.before), body: toShown(entry.body) };
}

function labelsOf({ keys }: SystemRecords): ReadonlyMap<string, string> {
  return new Map(keys.map(({ Prefix, Label }) => [Prefix, Label]));
}

/** @param labels of keys, by prefix @param siteNames by ID */
function toInfo(
  entry: JournalEntry,
  labels: ReadonlyMap<string, string>,
  siteNames: ReadonlyMap<number, string>,
): LogEntryInfo {
  const { revision, at, actor, run, operation, resource, id, body, before } = entry;
  const { subject, site } = toAbout(entry);
  const stored = JSON.parse(body);
  return {
    ...{ revision, actor, run, operation, id },
    at: new Date(at).toISOString(),
    actorLabel: labels.get(actor) || null,
    subject: subject ?? null,
    resource: allResources.find(({ name }) => name === resource)?.path ?? resource,
    name: nameOf(stored),
    site: site === undefined ? null : { id: site, name: siteNames.get(site) ?? null },
    before: operation === "delete" ? stored : before === null ? null : JSON.parse(before),
    after: operation === "delete" ? null : stored,
  };
}
