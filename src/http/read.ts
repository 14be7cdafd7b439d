// Lists and look-ups.

import type { Format } from "../formats/format.ts";
import { Refusal } from "../model/errors.ts";
import { type StorefrontRecord, toId } from "../model/record.ts";
import type { Collection } from "../store/collection.ts";
import type { Kept } from "../store/kept.ts";
import type { Page } from "../store/pages.ts";
import type { Snapshot } from "../store/snapshot.ts";
import type { Reply } from "../wire/reply.ts";
import { chooseCoding, compressed } from "./compression.ts";
import { noneMatchHits, toEtag } from "./conditional.ts";
import type { Exchange } from "./exchange.ts";
import { type ListQuery, project, readListQuery, refuseLookUpMistakes, toLink } from "./query.ts";
import { reply } from "./reply.ts";
import { idIn, type Route } from "./routes.ts";

/** Answers GET and HEAD. @throws Refusal `not-found`, or `bad-request` for a bad parameter */
export function read(exchange: Exchange, route: Route, snapshot: Snapshot): Reply {
  const collection = snapshot.collection(route.resource);
  if (!route.isList) return lookUp(exchange, route, snapshot, collection);
  const query = readListQuery(route.resource, exchange.target.query);
  return query
    ? listSome(exchange, route, snapshot, collection, query)
    : listAll(exchange, route, snapshot, collection);
}

/** The refusal of an ID that no record has. */
export function noSuchRecord({ resource }: Route, id: string | number): Refusal {
  if (toId(String(id)) === undefined) {
    return new Refusal("not-found", `\`${String(id).slice(0, 40)}\` is no ID: an ID is a whole number from 1`);
  }
  return new Refusal("not-found", `there is no ${resource.singular} with the ID ${id}`);
}

function lookUp(exchange: Exchange, route: Route, snapshot: Snapshot, collection: Collection): Reply {
  const { format } = route;
  refuseLookUpMistakes(route.resource, exchange.target.query);
  const asked = idIn(exchange.target.path);
  const id = toId(asked);
  const kept = id === undefined ? undefined : collection.get(id);
  if (!kept) throw noSuchRecord(route, asked);
  const etag = toEtag(snapshot.version(kept.revision), route.resource, format.name);
  const known = exchange.request.fields.get("if-none-match");
  if (known !== null && noneMatchHits(known, etag)) return reply(exchange, 304, null, { ETag: etag });
  return reply(exchange, 200, { type: format.contentType, body: collection.document(kept, format) }, { ETag: etag });
}

function listAll(exchange: Exchange, { resource, format }: Route, snapshot: Snapshot, collection: Collection): Reply {
  const { fields } = exchange.request;
  const list = collection.list(format);
  const coding = chooseCoding(fields.get("accept-encoding"), list.length);
  const etag = toEtag(
    snapshot.version(collection.revision),
    resource,
    coding ? `${format.name}-${coding}` : format.name,
  );
  const known = fields.get("if-none-match");
  const fixed = { ETag: etag, Vary: "Accept-Encoding", "X-Total-Count": String(collection.size) };
  if (known !== null && noneMatchHits(known, etag)) return reply(exchange, 304, null, fixed);
  const type = format.contentType;
  if (!coding) return reply(exchange, 200, { type, body: list.body }, fixed);
  return reply(exchange, 200, { type, body: compressed(list, coding) }, { "Content-Encoding": coding, ...fixed });
}

function listSome(
  exchange: Exchange,
  route: Route,
  snapshot: Snapshot,
  collection: Collection,
  query: ListQuery,
): Reply {
  const { format } = route;
  const etag = toEtag(snapshot.version(collection.revision), route.resource, format.name);
  const { body, total } = collection.pages.get(`${format.name}?${exchange.target.query}`, () =>
    makePage(collection, format, query),
  );
  const link = toLink(exchange.target.path, query, total);
  const headers: Record<string, string> = {
    ETag: etag,
    "X-Total-Count": String(total),
    ...(link ? { Link: link } : {}),
  };
  const known = exchange.request.fields.get("if-none-match");
  if (known !== null && noneMatchHits(known, etag)) return reply(exchange, 304, null, headers);
  return reply(exchange, 200, { type: format.contentType, body }, headers);
}

function makePage(collection: Collection, format: Format, query: ListQuery): Page {
  const ids = collection.selections.select(query.filters, query.sort);
  const some = ids.slice(query.offset, query.limit === undefined ? undefined : query.offset + query.limit);
  const { fields } = query;
  const body = fields ? Buffer.from(toParts(some, fields, collection, format)) : collection.page(some, format);
  return { body, total: ids.length };
}

/** A list of the records `ids` with no more than `fields`. */
function toParts(ids: readonly number[], fields: ReadonlySet<string>, collection: Collection, format: Format): string {
  const items = ids.map((id) => {
    const record = JSON.parse((collection.get(id) as Kept).json) as StorefrontRecord;
    return format.part(collection.resource, project(record, fields));
  });
  return format.listStart + items.join(format.separator) + format.listEnd;
}
