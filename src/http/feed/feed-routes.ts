// The feed: GET /restapi/changes.json and .xml (contract section 10). If a page is empty and the request has `wait`, it's held as a long poll until something
// changes.

import { type Format, formats } from "../../formats/format.ts";
import { FairQueue } from "../../lib/fair-queue.ts";
import { OutdatedError } from "../../model/errors.ts";
import { copyHead, type Head } from "../../model/head.ts";
import { changesRight, readRight } from "../../model/key-rights.ts";
import { basePath, publicResources, type Resource } from "../../model/resource.ts";
import { readCursorAt } from "../../store/changes/feed.ts";
import { parseCursor } from "../../store/database/cursor.ts";
import type { SiteView } from "../../store/reads/site-views.ts";
import type { ApiKey } from "../../system/system-records.ts";
import type { WireResponse } from "../../wire/response.ts";
import { requireRights } from "../authorization/authenticate.ts";
import { type RequestAuthorizer, requireSameSite } from "../authorization/authorizer.ts";
import { chooseCoding } from "../compression.ts";
import { requireMatch } from "../conditional-requests.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { QueryReader } from "../query.ts";
import { type AuthorizedView, type RequestContext, type SiteRoute, siteRoute } from "../request-context.ts";
import { respondEncoded } from "../responses.ts";
import { type EncodedPage, encodeEmptyPage, FeedPageCache, type PageQuery } from "./feed-page-cache.ts";
import { type FeedParameters, parseFeedParameters } from "./feed-parameters.ts";
import type { LongPolls, PollRead } from "./long-poll.ts";

interface FeedRouteDependencies extends Pick<HttpDependencies, "engine" | "resources"> {
  readonly authorizer: RequestAuthorizer;
  readonly longPolls: LongPolls;
  readonly queries: QueryReader;
}

export function feedRoutes(dependencies: FeedRouteDependencies): [path: string, route: SiteRoute][] {
  const endpoint = new FeedEndpoint(dependencies);
  return formats.map((format) =>
    siteRoute<Omit<SiteRoute, "kind" | "label">>(`${basePath}changes.${format.name}`, {
      readOperation: "changes",
      methods: ["GET", "HEAD", "OPTIONS"],
      methodNotAllowedDetail: () => "the feed is read-only; change records at their own paths",
      respond: (context, authorized) => endpoint.respond(context, format, authorized),
    }),
  );
}

const unknownHead: Head = { revision: 0, epoch: "" };

/** A page's site, and the head it must have reached. */
type SiteHead = Head & Pick<SiteView, "siteId">;

interface RequestedFeed {
  readonly format: Format;
  readonly query: PageQuery;
}

interface PageReading extends PollRead {
  readonly page: EncodedPage;
}

class FeedEndpoint {
  readonly #dependencies: FeedRouteDependencies;
  readonly #served: readonly Resource[];
  readonly #pages: FeedPageCache;
  /** Requests' first reads, queued by site: when a change wakes thousands of clients, they all send their next requests at once. */
  readonly #readQueue = new FairQueue<number>();

  constructor(dependencies: FeedRouteDependencies) {
    this.#dependencies = dependencies;
    this.#served = publicResources(dependencies.resources);
    this.#pages = new FeedPageCache(dependencies.engine);
  }

  async respond(context: RequestContext, format: Format, authorized: AuthorizedView): Promise<WireResponse> {
    const { authorizer, longPolls, queries } = this.#dependencies;
    requireRights(context, authorized.key, [changesRight]);
    const sent = queries.read(context.target.query, { kind: "feed", format, resources: this.#served });
    // If the key's sandbox is renewed during a long poll, this starts over with the request's cursor, which by then is of another epoch. It also starts
    // over if the key loses the right to read a resource that the request didn't name.
    const { page } = await authorizer.repeatIfOutdated(context, authorized, async (current) => {
      const { siteView, key } = current;
      const feed = { format, query: parseFeedParameters(this.#served, sent, key.rights) };
      const asked = feed.query.isExplicit ? feed.query.resources : [];
      requireRights(context, key, [changesRight, ...asked.map(readRight)]);
      requireMatch(context.request.headers, undefined);
      if (!isFollower(context, feed.query))
        return this.#readQueue.run(siteView.siteId, () => this.#read(context, feed, siteView));
      if (longPolls.rounds.hasRounds(siteView.siteId)) return this.#deferRead(context, feed, current);
      const first = await longPolls.rounds.run(siteView.siteId, siteView, () => this.#read(context, feed, siteView));
      return first.hasContent ? first : this.#longPoll(context, feed, { key, first });
    });
    const coding = chooseCoding(context.request.headers.get("accept-encoding"), page.body.length);
    const content = { type: format.contentType, list: page.body, coding };
    return respondEncoded(context, content, { Vary: "Accept-Encoding" });
  }

  /** Holds a request as a long poll that hasn't read anything yet. If it ends before its turn, it returns an empty page with its own cursor. */
  #deferRead(
    context: RequestContext,
    feed: RequestedFeed,
    { key, siteView, systemHead }: AuthorizedView,
  ): Promise<PageReading> {
    const { siteId } = siteView;
    parseCursor(feed.query.since);
    const page = encodeEmptyPage(feed.format, { next: feed.query.since, hasMore: true }, unknownHead);
    const first = { page, siteId, head: unknownHead, system: systemHead, hasContent: false };
    return this.#longPoll(context, feed, { key, first, unreadHead: copyHead(siteView) });
  }

  #longPoll(
    context: RequestContext,
    { format, query }: RequestedFeed,
    poll: { readonly key: ApiKey; readonly first: PageReading; readonly unreadHead?: Head },
  ): Promise<PageReading> {
    const { authorizer, longPolls } = this.#dependencies;
    const readAfter = ({ siteId, page }: PageReading, head: Head, end?: number) =>
      this.#read(context, { format, query: { ...query, since: page.next, end } }, { siteId, ...head });
    const read = async (last: PageReading, head: Head, isInRound: boolean) => {
      try {
        const found = await readAfter(last, head, isInRound ? head.revision : undefined);
        // There may be changes after the round's head that the client is waiting for.
        return isInRound && found.page.isEmpty && found.page.hasMore ? await readAfter(found, found.head) : found;
      } catch (error) {
        // The read also fails if the site and its journal have been removed. Reauthorizing then throws the right error for the client or, if a renewed
        // sandbox has replaced the site, one that makes the request start over.
        await authorizer.reauthorize(context, (authorized) => requireSameSite(authorized, last.siteId));
        throw error;
      }
    };
    return longPolls.waitForContent(context, { ...poll, waitMs: query.waitMs, read });
  }

  /** Reads a page, then authorizes again. Repeats both if the epoch or the key's site has changed. */
  #read(context: RequestContext, feed: RequestedFeed, siteHead: SiteHead): Promise<PageReading> {
    return this.#dependencies.authorizer.repeatIfOutdated(context, { siteView: siteHead }, (current) =>
      this.#readAndReauthorize(context, feed, current.siteView),
    );
  }

  async #readAndReauthorize(context: RequestContext, feed: RequestedFeed, siteHead: SiteHead): Promise<PageReading> {
    const { siteId } = siteHead;
    const page = await this.#readPage(siteId, copyHead(siteHead), feed);
    // While we read the page, the key may have been revoked, the site removed or the sandbox renewed.
    return this.#dependencies.authorizer.reauthorize(context, (authorized) => {
      requireSameSite(authorized, siteId);
      const { rights } = authorized.key;
      if (!feed.query.resources.every((resource) => rights.allows(readRight(resource)))) throw new OutdatedError("key");
      const hasContent = !page.isEmpty || page.hasMore;
      return { page, siteId, head: page.head, system: authorized.systemHead, hasContent };
    });
  }

  async #readPage(siteId: number, head: Head, { format, query }: RequestedFeed): Promise<EncodedPage> {
    if (query.since !== "now") return this.#pages.getPage(siteId, head, query, format);
    const next = await readCursorAt(this.#dependencies.engine, siteId, head);
    return encodeEmptyPage(format, { next, hasMore: false }, head);
  }
}

function isFollower({ method }: RequestContext, { waitMs, since }: FeedParameters): boolean {
  return waitMs > 0 && since !== "now" && method !== "HEAD";
}
