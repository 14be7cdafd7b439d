// The records of a site: lists them, reads, creates, updates and deletes single records, and finds records in all sites.

import { parseNumber } from "../../http/common/parameters.ts";
import { Semaphore } from "../../lib/concurrency.ts";
import { ProblemError } from "../../model/errors.ts";
import { toId } from "../../model/record.ts";
import { findTextField, publicResources, type Resource } from "../../model/resource.ts";
import { findInSites } from "../../operator/find-in-sites.ts";
import {
  createRecord,
  deleteRecords,
  findVersioned,
  listRecords,
  updateRecord,
  type WrittenRecord,
} from "../../operator/records.ts";
import { allResources } from "../../resources/all.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import type {
  DeletionBody,
  DeletionResponse,
  FindResponse,
  RecordResponse,
  RecordsResponse,
  ResourcesResponse,
  WrittenRecordResponse,
} from "./types.ts";

const list = "/operator/sites/{site}/records/{resource}";
const one = `${list}/{id}`;

export const recordActions: readonly Action[] = [
  ["GET", list, listPage],
  ["POST", list, create],
  ["DELETE", list, remove],
  ["GET", one, show],
  ["PATCH", one, update],
];

/** Maximum number of records in a page. */
const maxPageSize = 1000;
/** Maximum number of records that one request deletes. */
const maxDeleted = 1000;
/** Maximum length of a search, in characters. */
const maxSearch = 255;

/** Lists a page of records. The query is `?search=&sort=Name&order=desc&limit=25&offset=0`. */
async function listPage(call: ActionContext): Promise<RecordsResponse> {
  const { siteViews, query, request } = call;
  const [site, resource] = [await call.site(), resourceOf(call)];
  const sort = query.get("sort") ?? "ID";
  const textField = findTextField(resource, sort);
  if (!textField && sort !== "ID")
    throw new ProblemError("bad-request", `no field \`${sort.slice(0, 100)}\` to sort by`);
  const search = query.get("search") ?? "";
  if (search.length > maxSearch)
    throw new ProblemError("bad-request", `\`search\` must have at most ${maxSearch} characters`);
  const wanted = {
    search,
    sort: { textField, descending: query.get("order") === "desc" },
    limit: parseNumber(query, "limit", { min: 1, max: maxPageSize, byDefault: 25 }),
    offset: parseNumber(query, "offset", { min: 0, byDefault: 0 }),
  };
  return listRecords(siteViews, site.ID, resource, wanted, () => !request.isAbandoned);
}

async function show(call: ActionContext): Promise<RecordResponse> {
  const [site, resource, id] = [await call.site(), resourceOf(call), idOf(call)];
  const found = await findVersioned(call.siteViews, site.ID, resource, id);
  if (!found) throw new ProblemError("not-found", `there is no ${resource.singular} with the ID ${id}`);
  return found;
}

/** Creates a record. The body has its values. */
async function create(call: ActionContext): Promise<WrittenRecordResponse> {
  const [site, resource] = [await call.site(), resourceOf(call)];
  return toShown(call, await createRecord(call.engine, site.ID, resource, await call.input(), call.now()));
}

/** Updates a record. The body has the values to change; `If-Match` has the version that the operator has seen. */
async function update(call: ActionContext): Promise<WrittenRecordResponse> {
  const [site, resource, id] = [await call.site(), resourceOf(call), idOf(call)];
  const ifVersion = call.request.headers.get("if-match")?.replace(/^"(.*)"$/, "$1");
  const options = { ifVersion, at: call.now() };
  return toShown(call, await updateRecord(call.engine, site.ID, resource, id, await call.input(), options));
}

/** Deletes records, all of them or none. */
async function remove(call: ActionContext): Promise<DeletionResponse> {
  const [site, resource] = [await call.site(), resourceOf(call)];
  const { ids } = await call.input<DeletionBody>();
  const isId = (id: unknown) => typeof id !== "object" && toId(String(id)) !== undefined;
  const isList = Array.isArray(ids) && ids.length > 0 && ids.length <= maxDeleted && ids.every(isId);
  if (!isList) throw new ProblemError("bad-request", `\`ids\` must be a list of 1 to ${maxDeleted} IDs`);
  const { revisions } = await deleteRecords(call.engine, site.ID, resource, ids.map(Number), call.now());
  return { deleted: ids.length, revisions, run: call.run };
}

function toShown({ run }: ActionContext, written: WrittenRecord): WrittenRecordResponse {
  return { ...written, run };
}

/** Returns the resource that the path of the request names. @throws ProblemError `not-found` */
export function resourceOf({ parameters }: ActionContext): Resource {
  return resourceNamed(parameters.resource ?? "");
}

/** Returns the public resource with this path. @throws ProblemError `not-found` */
export function resourceNamed(name: string): Resource {
  const found = publicResources(allResources).find(({ path }) => path === name);
  if (found) return found;
  throw new ProblemError("not-found", `there is no resource \`${name.slice(0, 100)}\``);
}

/** Returns the record ID in the path of the request. @throws ProblemError `not-found` if it is not a valid ID */
export function idOf({ parameters }: ActionContext): number {
  const id = toId(parameters.id ?? "");
  if (id !== undefined) return id;
  throw new ProblemError("not-found", `invalid ID \`${parameters.id?.slice(0, 40)}\`: an ID is a whole number from 1`);
}

// The declarations of the resources. The console builds its lists and forms from them.

export const resourceActions: readonly Action[] = [
  ["GET", "/operator/resources", async (): Promise<ResourcesResponse> => ({ resources: declared })],
];

const declared = publicResources(allResources).map(({ name, path, singular, plural, textFields }) => ({
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
}));

// Finds records in all sites that the operator may manage.

export const findActions: readonly Action[] = [["GET", "/operator/find", find]];

/** Maximum length of the text to find, in characters. */
const maxText = 255;
/** Milliseconds after which a search stops. Its response then says where to continue. */
const duration = 3000;

/** Limits the searches that run at once to two, because each reads every record and blocks other requests for some milliseconds at a time. */
const semaphore = new Semaphore(2);

/**
 * Finds records in all sites of the operator. The query is `?text=Acme&after=12`: `text` is the whole value of a field or an ID, and `after` is
 * the ID of the site after which to continue.
 */
async function find(call: ActionContext): Promise<FindResponse> {
  const { engine, query, request } = call;
  const text = (query.get("text") ?? "").trim();
  if (text === "" || text.length > maxText)
    throw new ProblemError("bad-request", `\`text\` must have 1 to ${maxText} characters`);
  const after = parseNumber(query, "after", { min: 0, byDefault: 0 });
  const sites = (await call.sites()).filter(({ ID, Importing }) => ID > after && !Importing);
  const limits = { results: 50, duration, isWanted: () => !request.isAbandoned };
  const search = () =>
    request.isAbandoned ? { found: [], next: undefined } : findInSites(engine, sites, text, limits);
  const { found, next } = await semaphore.run(search);
  return { found, next: next ?? null };
}
