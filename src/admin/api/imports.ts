// Imports of files into a site. The page uploads a file in parts, requests a preview and a dry run (`check`), and then runs the import.

import { isDelimiter } from "../../formats/csv.ts";
import { parseMapping } from "../../formats/csv-mapping.ts";
import { encodingHint } from "../../formats/text-encoding.ts";
import { parseNumber } from "../../http/common/parameters.ts";
import { ProblemError } from "../../model/errors.ts";
import type { JobOptions } from "../../operator/import/job/import-job.ts";
import { type EntryKind, entryKinds, rowKinds } from "../../operator/import/job/import-report.ts";
import { getMatchField } from "../../operator/import/matcher.ts";
import { toMissingNumbers } from "../../operator/import/missing-from-file.ts";
import type { TableOptions } from "../../operator/import/open-table.ts";
import { consoleActor } from "../../operator/journal/events.ts";
import type { Action, ActionContext, FileContent } from "../action-routes.ts";
import {
  parseBoolean,
  parseOptionalText,
  parseOptionalWholeNumber,
  parseText,
  type ReceivedBody,
} from "../json-body.ts";
import { LongWork } from "../long-work.ts";
import type { ImportOwner, OpenImport, OpenImports } from "../open-imports.ts";
import { withReauthorization } from "../reauthorized-engine.ts";
import { maxDownloadBytes, mediaTypes, toFile, tooLargeError } from "./downloads.ts";
import { resourceNamed } from "./parameters.ts";
import type {
  CheckBody,
  DialectBody,
  FilePreviewResponse,
  ImportInfo,
  ImportRowsResponse,
  ImportsResponse,
  NewImportBody,
  RunBody,
} from "./record-types.ts";

const list = "/operator/sites/{site}/imports";
const one = `${list}/{id}`;

export function importActions(imports: OpenImports): readonly Action[] {
  /** Passes the import in the path to `act`, if it belongs to the operator. */
  const withImport =
    (act: (call: ActionContext, found: OpenImport) => object | Promise<object>) => async (call: ActionContext) =>
      act(call, imports.get(await ownerOf(call), call.parameters.id ?? ""));
  return [
    [
      "GET",
      list,
      "read",
      async (call): Promise<ImportsResponse> => ({ imports: imports.list(await ownerOf(call)).map(toImportInfo) }),
    ],
    ["POST", list, "records", (call) => open(call, imports)],
    ["GET", one, "read", withImport((_, found) => toImportInfo(found))],
    ["DELETE", one, "records", withImport((_, found) => imports.remove(found).then(() => ({})))],
    ["PUT", `${one}/parts/{part}`, "records", withImport((call, found) => addPart(call, found, imports))],
    ["POST", `${one}/preview`, "records", withImport(previewFile)],
    ["POST", `${one}/check`, "records", withImport((call, found) => check(call, found, imports))],
    ["GET", `${one}/rows`, "read", withImport(listRows)],
    ["POST", `${one}/run`, "records", withImport((call, found) => run(call, found, imports))],
    ["POST", `${one}/stop`, "records", withImport(stop)],
    ["GET", `${one}/rejected`, "read", withImport((_, found) => rejectedRows(found))],
  ];
}

async function ownerOf({ session, site }: ActionContext): Promise<ImportOwner> {
  return { operator: session.operator.ID, site: (await site()).ID, systemEpoch: session.systemEpoch };
}

/** Longer file names are cut to this many characters. */
const maxNameLength = 200;

async function open(call: ActionContext, imports: OpenImports): Promise<ImportInfo> {
  const owner = await ownerOf(call);
  const input = await call.input<NewImportBody>();
  const resource = resourceNamed(parseText(input, "resource"));
  const name = parseText(input, "name").slice(0, maxNameLength);
  return toImportInfo(imports.openImport(owner, resource, name));
}

/** Appends a part of the file. Parts are numbered from 0, and must arrive in order. */
async function addPart(
  { request, parameters }: ActionContext,
  found: OpenImport,
  imports: OpenImports,
): Promise<ImportInfo> {
  if (request.headers.get("content-type") !== "application/octet-stream")
    throw new ProblemError("unsupported-media-type", "send the part as application/octet-stream");
  const { part = "" } = parameters;
  const number = /^(0|[1-9][0-9]{0,6})$/.test(part) ? Number(part) : undefined;
  if (number === undefined) throw new ProblemError("bad-request", "parts are numbered from 0");
  imports.add(found, number, (await request.readBody()).view);
  return toImportInfo(found);
}

/** A large workbook takes seconds even for its first rows, because its shared strings have to be read first. */
const previews = new LongWork(2);

async function previewFile(call: ActionContext, { job }: OpenImport): Promise<FilePreviewResponse> {
  const options = parseDialect(await call.input<DialectBody>());
  return previews.run(call, () => job.preview(options));
}

async function check(call: ActionContext, found: OpenImport, imports: OpenImports): Promise<ImportInfo> {
  const input = await call.input<CheckBody>();
  const options = parseOptions(input, found);
  if (!found.job.isBusy) imports.requireFreeCapacity();
  found.job.check(call.engine, found.site, options, call.now);
  found.options = input;
  return toImportInfo(found);
}

async function run(call: ActionContext, found: OpenImport, imports: OpenImports): Promise<ImportInfo> {
  const input = await call.input<RunBody>();
  const { without = [], withoutKinds = [] } = input;
  if (!Array.isArray(without) || !without.every((row) => Number.isSafeInteger(row)))
    throw new ProblemError("bad-request", "`without` must be a list of row numbers");
  if (!Array.isArray(withoutKinds) || !withoutKinds.every((kind) => rowKinds.includes(kind)))
    throw new ProblemError("bad-request", `\`withoutKinds\` must be a list of ${rowKinds.join(", ")}`);
  const removals = parseOptionalWholeNumber(input, "removals", { min: 0 });
  const site = await call.site();
  if (!found.job.isBusy) imports.requireFreeCapacity(found);
  found.job.run(
    withReauthorization(call, "import", site, found),
    found.site,
    { rows: without, kinds: withoutKinds, removals },
    call.now,
    ({ detail, rows }) => {
      const { operator } = call.session;
      const file = { name: found.name, site: found.site, resource: found.job.resource.path };
      const event = { kind: "import", operator: operator.ID, ...file, detail, rows } as const;
      return call.repeatedEvents.add(event, consoleActor(operator.Name), call.run);
    },
  );
  found.run = call.run;
  return toImportInfo(found);
}

function stop(_: ActionContext, found: OpenImport): ImportInfo {
  found.job.stop();
  return toImportInfo(found);
}

/** Returns a page of the report with rows of one kind. The query is `?kind=updated&offset=0&limit=50`. */
async function listRows({ query }: ActionContext, { job }: OpenImport): Promise<ImportRowsResponse> {
  const kind = query.get("kind") as EntryKind;
  if (!entryKinds.includes(kind))
    throw new ProblemError("bad-request", `\`kind\` must be one of ${entryKinds.join(", ")}`);
  const offset = parseNumber(query, "offset", { min: 0, byDefault: 0 });
  return job.page(kind, offset, parseNumber(query, "limit", { min: 1, max: 200, byDefault: 50 }));
}

async function rejectedRows({ job }: OpenImport): Promise<FileContent> {
  const { path, format } = job.rejects;
  const file = Bun.file(path);
  if (file.size > maxDownloadBytes) throw tooLargeError("the file of rejected rows");
  return toFile(await file.bytes(), mediaTypes[format], `rejected.${format}`);
}

function parseOptions(input: ReceivedBody<CheckBody>, { job: { resource } }: OpenImport): JobOptions {
  const { mapping } = input;
  const match = parseOptionalText(input, "match");
  getMatchField(resource, match);
  return {
    match,
    findMissing: parseBoolean(input, "findMissing") ?? false,
    ...parseDialect(input),
    mapping: mapping === undefined ? undefined : parseMapping(resource, JSON.stringify(mapping)),
  };
}

function parseDialect(input: ReceivedBody<DialectBody>): Omit<TableOptions, "mapping"> {
  const sheet = parseOptionalText(input, "sheet");
  const headerRow = parseOptionalWholeNumber(input, "headerRow", { min: 0 });
  const delimiter = parseOptionalText(input, "delimiter");
  const encoding = parseOptionalText(input, "encoding");
  if (delimiter !== undefined && !isDelimiter(delimiter))
    throw new ProblemError("bad-request", "`delimiter` must be one character");
  const hint = encoding === undefined ? undefined : encodingHint(encoding);
  if (hint !== undefined) throw new ProblemError("bad-request", `unknown \`encoding\`. ${hint}`);
  return { sheet, headerRow, delimiter, encoding };
}

function toImportInfo({ id, name, options, run, undone, job }: OpenImport): ImportInfo {
  const { error, counts, revisions, missing, ...progress } = job.progress;
  return {
    id,
    name,
    resource: job.resource.path,
    parts: job.upload.parts,
    ...progress,
    counts: counts ?? null,
    missing: missing ? toMissingNumbers(missing) : null,
    error: error ? { detail: error.message, faults: error.fieldErrors } : null,
    revisions: revisions ?? null,
    run: run ?? null,
    undone: undone ?? null,
    options: job.isBusy ? null : (options ?? null),
  };
}
