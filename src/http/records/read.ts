// Responds to GET and HEAD for lists and look-ups, from a view of the site: a snapshot in memory, or an uncached site in the database.

import type { Format } from "../../formats/format.ts";
import { type MaybePromise, whenResolved } from "../../lib/maybe-promise.ts";
import { versionParts } from "../../model/change.ts";
import type { StorefrontRecord } from "../../model/record.ts";
import type { Collection } from "../../store/memory/collection.ts";
import { type CollectionVersion, type Page, toDocument } from "../../store/memory/collection-version.ts";
import type { MemoryRecord } from "../../store/memory/memory-record.ts";
import { Snapshot } from "../../store/memory/snapshot.ts";
import type { TextInParts } from "../../store/memory/text-in-parts.ts";
import type { SiteView } from "../../store/reads/site-views.ts";
import type { UncachedSite } from "../../store/reads/uncached-site.ts";
import type { HeaderParts, WireResponse } from "../../wire/response.ts";
import { chooseCoding } from "../compression.ts";
import { isNotModified, toEtag } from "../conditional-requests.ts";
import { idIn, type RequestContext, type ResourceRoute, recordNotFoundError } from "../request-context.ts";
import { respondEncoded, toResponse } from "../responses.ts";
import { type ListParameters, pickFields, toLinkHeader } from "./list-parameters.ts";

/** @throws ProblemError `not-found`, or `bad-request` for a bad parameter */
export function respondToRead(
  context: RequestContext,
  route: ResourceRoute,
  siteView: SiteView,
): MaybePromise<WireResponse> {
  const query = route.parseQuery(context.target.query);
  if (!route.isList) return respondToLookUp(context, route, siteView);
  if (siteView instanceof Snapshot) return respondToList(context, route, siteView, query);
  return respondToUncachedList(context, route, siteView, query);
}

function respondToLookUp(
  context: RequestContext,
  route: ResourceRoute,
  siteView: SiteView,
): MaybePromise<WireResponse> {
  const { recordIdInPath: id } = context;
  const record = id === undefined ? undefined : siteView.lookUpRecord(route.resource, id);
  return record instanceof Promise
    ? record.then((found) => toRecordResponse(context, route, siteView, found))
    : toRecordResponse(context, route, siteView, record);
}

function toRecordResponse(
  context: RequestContext,
  route: ResourceRoute,
  siteView: SiteView,
  record: MemoryRecord | undefined,
): WireResponse {
  const { resource, format } = route;
  if (!record) throw recordNotFoundError(route, idIn(context.target.path));
  const etag = toEtag(versionParts(siteView, record.revision), resource, format.name);
  if (isNotModified(context.request.headers, etag)) return toResponse(context, 304, null, { ETag: etag });
  const body = toDocument(record, resource, format);
  return toResponse(context, 200, { type: format.contentType, body }, { ETag: etag });
}

/** Plain pages come from the database, unless their offset is large. For every other list, the site is loaded. */
async function respondToUncachedList(
  context: RequestContext,
  route: ResourceRoute,
  siteView: UncachedSite,
  query: ListParameters | undefined,
): Promise<WireResponse> {
  if (query && isPlainPage(query)) {
    const page = await readUncachedPage(route, siteView, query, () => !context.request.isAbandoned);
    if (page) return toPageResponse(context, route, query, page);
  }
  return respondToList(context, route, await siteView.loadSnapshot(), query);
}

function respondToList(
  context: RequestContext,
  route: ResourceRoute,
  snapshot: Snapshot,
  query: ListParameters | undefined,
): MaybePromise<WireResponse> {
  const { format } = route;
  const collection = snapshot.collection(route.resource);
  return whenResolved(collection.version(), (version) => {
    const listVersion = versionParts(snapshot, version.revision);
    if (!query)
      return whenResolved(version.encodeList(format), (list) =>
        toListResponse(context, route, { list, size: version.size, version: listVersion }),
      );
    const name = `${format.name}?${context.target.query}`;
    const page = version.cachedPage(name, () =>
      createPage(collection, version, { name, format, query, isWanted: () => !context.request.isAbandoned }),
    );
    return whenResolved(page, (made) => toPageResponse(context, route, query, { ...made, version: listVersion }));
  });
}

interface WholeList {
  readonly list: TextInParts;
  readonly size: number;
  /** Epoch and revision of the resource's last change, in parts. */
  readonly version: HeaderParts;
}

function toListResponse(
  context: RequestContext,
  { resource, format }: ResourceRoute,
  { list, size, version }: WholeList,
): MaybePromise<WireResponse> {
  const { headers } = context.request;
  const coding = chooseCoding(headers.get("accept-encoding"), list.length);
  const etag = toEtag(version, resource, coding ? `${format.name}-${coding}` : format.name);
  const fixed = { ETag: etag, Vary: "Accept-Encoding", "X-Total-Count": String(size) };
  if (isNotModified(headers, etag)) return toResponse(context, 304, null, fixed);
  return respondEncoded(context, { type: format.contentType, list, coding }, fixed);
}

interface VersionedPage extends Page, Pick<WholeList, "version"> {}

function toPageResponse(
  context: RequestContext,
  { resource, format }: ResourceRoute,
  query: ListParameters,
  { body, total, version }: VersionedPage,
): WireResponse {
  const etag = toEtag(version, resource, format.name);
  const link = toLinkHeader(context.target.path, query, total);
  const headers = {
    ETag: etag,
    "X-Total-Count": String(total),
    ...(link ? { Link: link } : {}),
  };
  if (isNotModified(context.request.headers, etag)) return toResponse(context, 304, null, headers);
  return toResponse(context, 200, { type: format.contentType, body }, headers);
}

type PlainPage = ListParameters & { readonly limit: number };

/** Whether the database can return the page, without the site in memory. */
function isPlainPage(query: ListParameters): query is PlainPage {
  return query.limit !== undefined && query.filters.length === 0 && query.sort.length === 0;
}

/** Undefined if the site has to be loaded for this page. */
async function readUncachedPage(
  { resource, format }: ResourceRoute,
  site: UncachedSite,
  { limit, offset, fields }: PlainPage,
  isWanted: () => boolean,
): Promise<VersionedPage | undefined> {
  const page = await site.readRecordPage(resource, { limit, offset }, isWanted);
  if (!page) return undefined;
  const items = page.records.map(({ json }) =>
    fields ? format.part(resource, pickFields(JSON.parse(json), fields)) : format.item(resource, json),
  );
  const body = Buffer.from(format.listStart + items.join(format.separator) + format.listEnd);
  return { body, total: page.total, version: versionParts(site, page.revision) };
}

interface PageRequest {
  readonly name: string;
  readonly format: Format;
  readonly query: ListParameters;
  readonly isWanted: () => boolean;
}

function createPage(
  { resource, limiter, selections }: Collection,
  version: CollectionVersion,
  { name, format, query, isWanted }: PageRequest,
): MaybePromise<Page> {
  const { offset, limit, fields, filters, sort } = query;
  return whenResolved(selections.select(version, filters, sort, isWanted), (ids) => {
    const pageIds = ids.slice(offset, limit === undefined ? undefined : offset + limit);
    const encode = fields && ((record: StorefrontRecord) => format.part(resource, pickFields(record, fields)));
    const body = limiter.run(
      `page ${version.number} ${name}`,
      () => version.encodePage(pageIds, format, encode),
      isWanted,
    );
    return whenResolved(body, (bytes) => ({ body: bytes, total: ids.length }));
  });
}
