// Lists and look-ups.

import type { Format } from "../formats/format.ts";
import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import { Refusal } from "../model/errors.ts";
import { type StorefrontRecord, toId } from "../model/record.ts";
import type { Collection } from "../store/memory/collection.ts";
import type { EncodedList } from "../store/memory/encoded-list.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type { Page, Version } from "../store/memory/version.ts";
import type { WireResponse } from "../wire/response.ts";
import { chooseCoding, compressed } from "./compression.ts";
import { noneMatchHits, toEtag } from "./conditional.ts";
import type { Exchange } from "./exchange.ts";
import { type ListQuery, project, readListQuery, refuseLookUpMistakes, toLink } from "./query.ts";
import { toResponse } from "./responses.ts";
import { idIn, type ResourceRoute } from "./route.ts";

/** Answers GET and HEAD. @throws Refusal `not-found`, or `bad-request` for a bad parameter */
export function read(exchange: Exchange, route: ResourceRoute, snapshot: Snapshot): MaybePromise<WireResponse> {
  const collection = snapshot.collection(route.resource);
  if (!route.isList) return lookUp(exchange, route, snapshot, collection);
  const query = readListQuery(route.resource, exchange.target.query);
  return after(collection.version(), (version) =>
    query
      ? listSome(exchange, route, snapshot, collection, version, query)
      : after(version.list(route.format), (list) => listAll(exchange, route, snapshot, version, list)),
  );
}

/** The refusal of an ID that no record has. */
export function noSuchRecord({ resource }: ResourceRoute, id: string | number): Refusal {
  if (toId(String(id)) === undefined) {
    return new Refusal("not-found", `invalid ID \`${String(id).slice(0, 40)}\`: an ID is a whole number from 1`);
  }
  return new Refusal("not-found", `there is no ${resource.singular} with the ID ${id}`);
}

function lookUp(exchange: Exchange, route: ResourceRoute, snapshot: Snapshot, collection: Collection): WireResponse {
  const { format } = route;
  refuseLookUpMistakes(route.resource, exchange.target.query);
  const asked = idIn(exchange.target.path);
  const id = toId(asked);
  const record = id === undefined ? undefined : collection.get(id);
  if (!record) throw noSuchRecord(route, asked);
  const etag = toEtag(snapshot.version(record.revision), route.resource, format.name);
  const known = exchange.request.headers.get("if-none-match");
  if (known !== null && noneMatchHits(known, etag)) return toResponse(exchange, 304, null, { ETag: etag });
  return toResponse(
    exchange,
    200,
    { type: format.contentType, body: collection.document(record, format) },
    { ETag: etag },
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
  const etag = toEtag(snapshot.version(revision), resource, coding ? `${format.name}-${coding}` : format.name);
  const known = headers.get("if-none-match");
  const fixed = { ETag: etag, Vary: "Accept-Encoding", "X-Total-Count": String(size) };
  if (known !== null && noneMatchHits(known, etag)) return toResponse(exchange, 304, null, fixed);
  const type = format.contentType;
  if (!coding) return toResponse(exchange, 200, { type, body: list.take() }, fixed);
  return after(compressed(list, coding), (body) =>
    toResponse(exchange, 200, { type, body }, { "Content-Encoding": coding, ...fixed }),
  );
}

function listSome(
  exchange: Exchange,
  { resource, format }: ResourceRoute,
  snapshot: Snapshot,
  collection: Collection,
  version: Version,
  query: ListQuery,
): MaybePromise<WireResponse> {
  const name = `${format.name}?${exchange.target.query}`;
  const { request } = exchange;
  const page = version.page(name, () => makePage(collection, version, name, format, query, () => !request.isAbandoned));
  return after(page, ({ body, total }) => {
    const etag = toEtag(snapshot.version(version.revision), resource, format.name);
    const link = toLink(exchange.target.path, query, total);
    const headers: Record<string, string> = {
      ETag: etag,
      "X-Total-Count": String(total),
      ...(link ? { Link: link } : {}),
    };
    const known = request.headers.get("if-none-match");
    if (known !== null && noneMatchHits(known, etag)) return toResponse(exchange, 304, null, headers);
    return toResponse(exchange, 200, { type: format.contentType, body }, headers);
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
