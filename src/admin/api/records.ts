// The records of a site: lists, reads, creates and deletes them. several-records.ts changes them.

import { parseNumber } from "../../http/common/parameters.ts";
import { ProblemError } from "../../model/errors.ts";
import { toId } from "../../model/record.ts";
import { findTextField } from "../../model/resource.ts";
import { findVersioned, readRecordPage } from "../../operator/records/read-records.ts";
import { createRecord, deleteRecords } from "../../operator/records/records.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import { checkedSearch, idOf, resourceOf } from "./parameters.ts";
import type {
  DeletionBody,
  DeletionResponse,
  RecordResponse,
  RecordsResponse,
  WrittenRecordResponse,
} from "./record-types.ts";

const list = "/operator/sites/{site}/records/{resource}";
const one = `${list}/{id}`;

export const recordActions: readonly Action[] = [
  ["GET", list, "read", listPage],
  ["POST", list, "records", create],
  ["DELETE", list, "records", remove],
  ["GET", one, "read", show],
];

/** Maximum number of records in a page. */
const maxListed = 5000;
/** Maximum number of records that one request deletes. */
const maxDeleted = 1000;

/** Lists a page of records. The query is `?search=&sort=Name&order=desc&limit=25&offset=0&known=`. */
async function listPage(call: ActionContext): Promise<RecordsResponse> {
  const { siteViews, query, request } = call;
  const [site, resource] = [await call.site(), resourceOf(call)];
  const sort = query.get("sort") ?? "ID";
  const textField = findTextField(resource, sort);
  if (!textField && sort !== "ID")
    throw new ProblemError("bad-request", `no field \`${sort.slice(0, 100)}\` to sort by`);
  const order = query.get("order") ?? "asc";
  if (order !== "asc" && order !== "desc") throw new ProblemError("bad-request", "`order` must be asc or desc");
  const wanted = {
    search: checkedSearch(query.get("search") ?? ""),
    sort: { textField, descending: order === "desc" },
    limit: parseNumber(query, "limit", { min: 1, max: maxListed, byDefault: 25 }),
    offset: parseNumber(query, "offset", { min: 0, byDefault: 0 }),
    known: query.get("known"),
  };
  return readRecordPage(siteViews, site.ID, resource, wanted, () => !request.isAbandoned);
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
  const isList = Array.isArray(ids) && ids.length > 0 && ids.length <= maxDeleted && ids.every(isId);
  if (!isList) throw new ProblemError("bad-request", `\`ids\` must be a list of 1 to ${maxDeleted} IDs`);
  const { revisions } = await deleteRecords(call.engine, site.ID, resource, ids.map(Number), call.now());
  return { deleted: ids.length, revisions, run: call.run };
}
