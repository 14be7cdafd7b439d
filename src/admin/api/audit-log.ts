// The audit log: what has changed in keys, webhooks, operators and sites, and who signed in, imported, exported and so on.

import { byteOrderMark } from "../../formats/csv.ts";
import { parseNumber, parseSingle } from "../../http/common/parameters.ts";
import { ProblemError } from "../../model/errors.ts";
import { systemSite } from "../../model/system-site.ts";
import { type LogEntry, LogReader, logSubjects, readLogPage } from "../../operator/journal/audit-log.ts";
import { nameOf, toHistoryCsv } from "../../operator/journal/history-csv.ts";
import { readEntries, selectEntries } from "../../operator/journal/journal-entries.ts";
import { allResources } from "../../resources/all.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import type { SystemRecords } from "../../system/system-records.ts";
import type { Action, ActionContext, FileContent } from "../action-routes.ts";
import { collectFile, mediaTypes, recordDownload, toFile } from "./downloads.ts";
import { rangeIn } from "./history.ts";
import type { LogEntryInfo, LogResponse } from "./types.ts";

const log = "/operator/audit-log";

export const auditLogActions: readonly Action[] = [
  ["GET", log, "read-settings", list],
  ["GET", `${log}/export`, "read-settings", download],
];

/** Lists the entries before a revision, newest first. The query is `?subject=keys&actor=&site=garden&from=&to=&before=&limit=`. */
async function list(call: ActionContext): Promise<LogResponse> {
  const { query, engine } = call;
  const before = parseNumber(query, "before", { min: 1, byDefault: undefined });
  const limit = parseNumber(query, "limit", { min: 1, max: 200, byDefault: 100 });
  const [filter, range] = [await filterIn(call), await rangeIn(call, systemSite)];
  const system = await readSystemRecords(engine);
  const { entries, next } = await readLogPage(engine, new LogReader(system, call.session.operator), {
    ...filter,
    since: range.since,
    before: Math.min(before ?? Number.POSITIVE_INFINITY, (range.until ?? Number.POSITIVE_INFINITY) + 1),
    limit,
  });
  const toInfo = createToInfo(system);
  return { entries: entries.map(toInfo), next: next ?? null };
}

/** Returns what `list` lists as CSV, oldest first, with a row per changed field. */
async function download(call: ActionContext): Promise<FileContent> {
  const { engine, session } = call;
  const [filter, range] = [await filterIn(call), await rangeIn(call, systemSite)];
  const system = await readSystemRecords(engine);
  const reader = new LogReader(system, session.operator);
  async function* entries() {
    const selected = selectEntries(readEntries(engine, systemSite, range), reader.filterOf(filter));
    for await (const entry of selected) yield reader.toLogEntry(entry);
  }
  const csv = await collectFile(toHistoryCsv(entries(), labelsOf(system)), call, "the log");
  const name = "audit-log.csv";
  await recordDownload(call, { name });
  // With a byte order mark, so that Excel reads the file as UTF-8.
  return toFile([Buffer.from(byteOrderMark), ...csv], mediaTypes.csv, name);
}

async function filterIn(call: ActionContext) {
  const { query } = call;
  const [chosen, name] = [parseSingle(query, "subject"), parseSingle(query, "site")];
  const subject = logSubjects.find((one) => one === chosen);
  if (chosen !== undefined && !subject)
    throw new ProblemError("bad-request", `\`subject\` must be one of ${logSubjects.join(", ")}`);
  const site = name === undefined ? undefined : (await call.sites()).find(({ Name }) => Name === name);
  if (name !== undefined && !site) throw new ProblemError("not-found", `there is no site \`${name.slice(0, 100)}\``);
  return { subject, actor: parseSingle(query, "actor"), site: site?.ID };
}

function labelsOf({ keys }: SystemRecords): ReadonlyMap<string, string> {
  return new Map(keys.map(({ Prefix, Label }) => [Prefix, Label]));
}

function createToInfo(system: SystemRecords): (entry: LogEntry) => LogEntryInfo {
  const labels = labelsOf(system);
  const names = new Map(system.sites.map(({ ID, Name }) => [ID, Name]));
  return ({ revision, at, actor, run, operation, resource, id, subject, site, body, before }) => {
    const stored = JSON.parse(body);
    return {
      ...{ revision, actor, run, operation, id },
      at: new Date(at).toISOString(),
      actorLabel: labels.get(actor) || null,
      subject: subject ?? null,
      resource: allResources.find(({ name }) => name === resource)?.path ?? resource,
      name: nameOf(stored),
      site: site === undefined ? null : { id: site, name: names.get(site) ?? null },
      before: operation === "delete" ? stored : before === null ? null : JSON.parse(before),
      after: operation === "delete" ? null : stored,
    };
  };
}
