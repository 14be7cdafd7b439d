// Responds to GET and HEAD of lists and look-ups, from a view of the site: a snapshot in memory, or an uncached site in the database.

import type { Format } from "../formats/format.ts";
import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import { versionParts } from "../model/change.ts";
import { Refusal } from "../model/errors.ts";
import { type StorefrontRecord, toId } from "../model/record.ts";
import type { Collection } from "../store/memory/collection.ts";
import { type EncodedList, type Page, toDocument, type Version } from "../store/memory/collection-version.ts";
import { type MemoryRecord, Snapshot } from "../store/memory/snapshot.ts";
import type { FreshSite } from "../store/reads/site-views.ts";
import type { ColdSite } from "../store/reads/uncached-site.ts";
import type { WireResponse } from "../wire/response.ts";
import { chooseCoding } from "./compression.ts";
import { isKnown, toEtag } from "./conditional-requests.ts";
import type { Exchange } from "./handler.ts";
import { type ListQuery, project, readListQuery, refuseLookUpMistakes, toLink } from "./list-parameters.ts";
import { respondEncoded, toResponse } from "./responses.ts";
import { idIn, type ResourceRoute } from "./route.ts";

/** Returns the response to GET and HEAD. @throws ProblemError `not-found`, or `bad-request` for a bad parameter */
export function read(exchange: Exchange, route: ResourceRoute, fresh: FreshSite): MaybePromise<WireResponse> {
  return route.isList ? readList(exchange, route, fresh) : lookUp(exchange, route, fresh);
}

function readList(exchange: Exchange, route: ResourceRoute, fresh: FreshSite): MaybePromise<WireResponse> {
  const query = readListQuery(route.resource, exchange.target.query);
  if (fresh instanceof Snapshot) return list(exchange, route, fresh, query);
  const load = () => after(fresh.load(), (snapshot) => list(exchange, route, snapshot, query));
  return query && isPlainPage(query)
    ? after(coldPage(route, fresh, query), (page) => (page ? respondPage(exchange, route, fresh, query, page) : load()))
    : load();
}

/** Returns the error for an ID that is invalid or unknown. */
export function noSuchRecord({ resource }: ResourceRoute, id: string | number): Refusal {
  if (toId(String(id)) === undefined) {
    return new Refusal("not-found", `invalid ID \`${String(id).slice(0, 40)}\`: an ID is a whole number from 1`);
  }
  return new Refusal("not-found", `there is no ${resource.singular} with the ID ${id}`);
}

function lookUp(exchange: Exchange, route: ResourceRoute, fresh: FreshSite): MaybePromise<WireResponse> {
  const { resource } = route;
  refuseLookUpMistakes(resource, exchange.target.query);
  const { pathId: id } = exchange;
  if (id === undefined) throw noSuchRecord(route, idIn(exchange.target.path));
  const record = fresh instanceof Snapshot ? fresh.collection(resource).get(id) : fresh.record(resource, id);
  if (record instanceof Promise) return respondLater(exchange, route, fresh, record);
  return respondRecord(exchange, route, fresh, record);
}

async function respondLater(
  exchange: Exchange,
  route: ResourceRoute,
  fresh: FreshSite,
  record: Promise<MemoryRecord | undefined>,
): Promise<WireResponse> {
  return respondRecord(exchange, route, fresh, await record);
}

function respondRecord(
  exchange: Exchange,
  route: ResourceRoute,
  fresh: FreshSite,
  record: MemoryRecord | undefined,
): WireResponse {
  if (!record) throw noSuchRecord(route, idIn(exchange.target.path));
  const { resource, format } = route;
  const etag = toEtag(versionParts(fresh, record.revision), resource, format.name);
  if (isKnown(exchange.request.headers, etag)) return toResponse(exchange, 304, null, { ETag: etag });
  const body = toDocument(record, resource, format);
  return toResponse(exchange, 200, { type: format.contentType, body }, { ETag: etag });
}

function list(
  exchange: Exchange,
  route: ResourceRoute,
  snapshot: Snapshot,
  query: ListQuery | undefined,
): MaybePromise<WireResponse> {
  const collection = snapshot.collection(route.resource);
  return after(collection.version(), (version) =>
    query
      ? listSome(exchange, route, snapshot, collection, version, query)
      : after(version.list(route.format), (whole) => listAll(exchange, route, snapshot, version, whole)),
  );
}

function listAll(
  exchange: Exchange,
  { resource, format }: ResourceRoute,
  snapshot: Snapshot,
  { revision, size }: Version,
  list: EncodedList,
): MaybePromise<WireResponse> {
  const { headers } = exchange.request;
  const coding = chooseCoding(headers.get("accept-encoding"), list.length);
  const version = versionParts(snapshot, revision);
  const etag = toEtag(version, resource, coding ? `${format.name}-${coding}` : format.name);
  const fixed = { ETag: etag, Vary: "Accept-Encoding", "X-Total-Count": String(size) };
  if (isKnown(headers, etag)) return toResponse(exchange, 304, null, fixed);
  return respondEncoded(exchange, format.contentType, list, coding, fixed);
}

function listSome(
  exchange: Exchange,
  route: ResourceRoute,
  snapshot: Snapshot,
  collection: Collection,
  version: Version,
  query: ListQuery,
): MaybePromise<WireResponse> {
  const { format } = route;
  const name = `${format.name}?${exchange.target.query}`;
  const { request } = exchange;
  const page = version.page(name, () => makePage(collection, version, name, format, query, () => !request.isAbandoned));
  return after(page, (made) => respondPage(exchange, route, snapshot, query, { ...made, revision: version.revision }));
}

/** A page of records. */
interface DatedPage extends Page {
  /** The site's revision at the last change to any record of the resource. */
  readonly revision: number;
}

function respondPage(
  exchange: Exchange,
  { resource, format }: ResourceRoute,
  fresh: FreshSite,
  query: ListQuery,
  { body, total, revision }: DatedPage,
): WireResponse {
  const etag = toEtag(versionParts(fresh, revision), resource, format.name);
  const link = toLink(exchange.target.path, query, total);
  const headers = {
    ETag: etag,
    "X-Total-Count": String(total),
    ...(link ? { Link: link } : {}),
  };
  if (isKnown(exchange.request.headers, etag)) return toResponse(exchange, 304, null, headers);
  return toResponse(exchange, 200, { type: format.contentType, body }, headers);
}

type PlainPage = ListQuery & { readonly limit: number };

/** Whether the query has `limit`, and neither filters nor `sort`. The database can return such a page without the site in memory. */
function isPlainPage(query: ListQuery): query is PlainPage {
  return query.limit !== undefined && query.filters.length === 0 && query.sort.length === 0;
}

/** Reads a page of an uncached site; undefined if the site must be loaded for it. */
function coldPage(
  { resource, format }: ResourceRoute,
  site: ColdSite,
  { limit, offset, fields }: PlainPage,
): MaybePromise<DatedPage | undefined> {
  return after(site.page(resource, { limit, offset }), (page) => {
    if (!page) return undefined;
    const items = page.records.map(({ json }) =>
      fields ? format.part(resource, project(JSON.parse(json), fields)) : format.item(resource, json),
    );
    const body = Buffer.from(format.listStart + items.join(format.separator) + format.listEnd);
    return { body, total: page.total, revision: page.revision };
  });
}

function makePage(
  { resource, limiter, selections }: Collection,
  version: Version,
  name: string,
  format: Format,
  query: ListQuery,
  isWanted: () => boolean,
): MaybePromise<Page> {
  const { offset, limit, fields, filters, sort } = query;
  return after(selections.select(version, filters, sort, isWanted), (ids) => {
    const some = ids.slice(offset, limit === undefined ? undefined : offset + limit);
    const encode = fields && ((record: StorefrontRecord) => format.part(resource, project(record, fields)));
    const body = limiter.run(`page ${version.number} ${name}`, () => version.pageOf(some, format, encode), isWanted);
    return after(body, (bytes) => ({ body: bytes, total: ids.length }));
  });
}
