// Lists, reads, creates, deletes, exports and finds records, and describes their resources to the console. several-records.ts changes them.

import { encodings } from "../../formats/text-encoding.ts";
import { parseNumber } from "../../http/common/parameters.ts";
import { countryCodes } from "../../lib/country-names.ts";
import { ProblemError } from "../../model/errors.ts";
import { toId } from "../../model/record.ts";
import { findTextField, publicResources, type Resource } from "../../model/resource.ts";
import { fileFormats } from "../../operator/import/file-rows.ts";
import { exportRecords } from "../../operator/records/export-records.ts";
import { findVersioned, readFound, readRecordPage } from "../../operator/records/read-records.ts";
import { createRecord, deleteRecords } from "../../operator/records/records.ts";
import { findInSites } from "../../operator/sites/find-in-sites.ts";
import { allResources } from "../../resources/all.ts";
import type { Action, ActionContext, FileContent } from "../action-routes.ts";
import { LongWork } from "../long-work.ts";
import { collectFile, mediaTypes, recordDownload, toFile } from "./downloads.ts";
import { checkSearch, idOf, maxSearchLength, resourceOf } from "./parameters.ts";
import type {
  DeletionBody,
  DeletionResponse,
  FindResponse,
  RecordResponse,
  RecordsResponse,
  WrittenRecordResponse,
} from "./record-types.ts";
import type { ResourcesResponse } from "./types.ts";

const list = "/operator/sites/{site}/records/{resource}";
const one = `${list}/{id}`;

export const recordActions: readonly Action[] = [
  ["GET", list, "read", listPage],
  ["POST", list, "records", create],
  ["DELETE", list, "records", remove],
  ["GET", one, "read", show],
  ["GET", `${list}/export`, "read", download],
  ["GET", "/operator/find", "read", find],
  ["GET", "/operator/resources", "read", async () => declared],
];

/** Maximum records per page. */
const maxListed = 5000;
/** Maximum records that one request can name, to delete or export them. */
const maxNamed = 1000;

/** Returns a page of a list. The query is `?search=&sort=Name&order=desc&limit=25&offset=0`. */
async function listPage(call: ActionContext): Promise<RecordsResponse> {
  const { siteViews, query, request } = call;
  const [site, resource] = [await call.site(), resourceOf(call)];
  const wanted = {
    ...listIn(query, resource),
    limit: parseNumber(query, "limit", { min: 1, max: maxListed, byDefault: 25 }),
    offset: parseNumber(query, "offset", { min: 0, byDefault: 0 }),
  };
  return readRecordPage(siteViews, site.ID, resource, wanted, () => !request.isAbandoned);
}

/** @throws ProblemError `bad-request` */
function listIn(query: URLSearchParams, resource: Resource) {
  const sort = query.get("sort") ?? "ID";
  const textField = findTextField(resource, sort);
  if (!textField && sort !== "ID")
    throw new ProblemError("bad-request", `no field \`${sort.slice(0, 100)}\` to sort by`);
  const order = query.get("order") ?? "asc";
  if (order !== "asc" && order !== "desc") throw new ProblemError("bad-request", "`order` must be asc or desc");
  const search = checkSearch(query.get("search") ?? "");
  return { search, sort: { textField, descending: order === "desc" } };
}

async function show(call: ActionContext): Promise<RecordResponse> {
  const [site, resource, id] = [await call.site(), resourceOf(call), idOf(call)];
  const found = await findVersioned(call.siteViews, site.ID, resource, id);
  if (!found) throw new ProblemError("not-found", `there is no ${resource.singular} with the ID ${id}`);
  return found;
}

async function create(call: ActionContext): Promise<WrittenRecordResponse> {
  const [site, resource] = [await call.site(), resourceOf(call)];
  const created = await createRecord(call.engine, site.ID, resource, await call.input(), call.now());
  return { ...created, run: call.run };
}

async function remove(call: ActionContext): Promise<DeletionResponse> {
  const [site, resource] = [await call.site(), resourceOf(call)];
  const { ids } = await call.input<DeletionBody>();
  const isId = (id: unknown) => typeof id !== "object" && toId(String(id)) !== undefined;
  const isList = Array.isArray(ids) && ids.length > 0 && ids.length <= maxNamed && ids.every(isId);
  if (!isList) throw new ProblemError("bad-request", `\`ids\` must be a list of 1 to ${maxNamed} IDs`);
  const { revisions } = await deleteRecords(call.engine, site.ID, resource, ids.map(Number), call.now());
  return { deleted: ids.length, revisions, run: call.run };
}

/** After this many milliseconds, a search stops at the next site, and the response says where to continue. */
const maxSearchMs = 3000;

/** At most two searches run at once, because each reads every record and blocks other requests for milliseconds at a time. */
const searches = new LongWork(2);

/**
 * Finds records in all of the operator's sites. Sandboxes are skipped, because they'd show most records twice. The query is `?text=Acme&after=12`:
 * `text` is a whole field value or an ID, and `after` is the ID of the site to continue after.
 */
async function find(call: ActionContext): Promise<FindResponse> {
  const { engine, query, request } = call;
  const text = (query.get("text") ?? "").trim();
  if (text === "" || text.length > maxSearchLength)
    throw new ProblemError("bad-request", `\`text\` must have 1 to ${maxSearchLength} characters`);
  const after = parseNumber(query, "after", { min: 0, byDefault: 0 });
  const sites = (await call.sites()).filter(
    ({ ID, Importing, SandboxOf }) => ID > after && !Importing && SandboxOf === "",
  );
  const limits = { results: 50, durationMs: maxSearchMs, isWanted: () => !request.isAbandoned };
  const { found, next } = await searches.run(call, () => findInSites(engine, sites, text, limits));
  return { found, next: next ?? null };
}

/**
 * Returns the same file as `storefront export`. With `?format=csv&search=&sort=Name&order=desc`, it has the records of a list, in the list's order, and with
 * `&ids=3,7`, only those.
 */
async function download(call: ActionContext): Promise<FileContent> {
  const { query, engine, siteViews, request } = call;
  const [site, resource] = [await call.site(), resourceOf(call)];
  const format = fileFormats.find((name) => name === (query.get("format") ?? "csv"));
  if (!format) throw new ProblemError("bad-request", `\`format\` must be one of ${fileFormats.join(", ")}`);
  const list = listIn(query, resource);
  const bodies = ["search", "sort", "ids"].some((name) => query.has(name))
    ? { bodies: readFound(siteViews, site.ID, resource, list, () => !request.isAbandoned, idsIn(query)) }
    : {};
  const content = exportRecords(engine, site.ID, resource, format, { isFile: true, ...bodies });
  const parts = await collectFile(content, call, "the export");
  const day = new Date(call.now()).toISOString().slice(0, 10);
  const name = `${site.Name}-${resource.path}-${day}.${format}`;
  await recordDownload(call, { name, site: site.ID, resource: resource.path });
  return toFile(parts, mediaTypes[format], name);
}

/** @throws ProblemError `bad-request` */
function idsIn(query: URLSearchParams): ReadonlySet<number> | undefined {
  const ids = query.get("ids")?.split(",").map(toId);
  if (!ids || (ids.length <= maxNamed && ids.every((id) => id !== undefined))) return ids && new Set(ids);
  throw new ProblemError("bad-request", `\`ids\` must be 1 to ${maxNamed} IDs, separated by commas`);
}

/** The declarations that the console builds its lists and forms from. */
const declared: ResourcesResponse = {
  maxSearchLength,
  encodings,
  countries: countryCodes,
  resources: publicResources(allResources).map(({ name, path, singular, plural, textFields }) => ({
    name,
    path,
    singular,
    plural,
    fields: textFields.map(({ path: field, field: { max, required, description, example, pattern } }) => ({
      path: field,
      max,
      required,
      description,
      example,
      pattern: pattern ?? null,
    })),
  })),
};
