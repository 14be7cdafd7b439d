// The feed: GET /restapi/changes.json and .xml (contract section 10). Reads a page of changes. If the page is empty and the request has the parameter
// `wait`, holds the request as a long poll until there is a change.

import { type Format, formats } from "../formats/format.ts";
import { FairQueue } from "../lib/event-loop.ts";
import { findNearest, normalizeName } from "../lib/text.ts";
import type { Head } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { defaultFeedLimit, maxFeedWaitSeconds, maxPageSize } from "../model/limits.ts";
import { publicResources, type Resource } from "../model/resource.ts";
import { readCursorAt } from "../store/changes/feed.ts";
import { firstCursor } from "../store/database/cursor.ts";
import type { SiteView } from "../store/reads/site-views.ts";
import type { ApiKey } from "../system/system-records.ts";
import type { WireResponse } from "../wire/response.ts";
import type { AuthorizedView, RequestAuthorizer } from "./authorizer.ts";
import { joinValues, readNumber, single } from "./common/parameters.ts";
import { chooseCoding } from "./compression.ts";
import { type EncodedPage, encodeEmptyPage, FeedPageCache } from "./feed-page-cache.ts";
import type { RequestContext } from "./handler.ts";
import { suggestParameter } from "./list-parameters.ts";
import type { LongPolls, PollRead } from "./long-poll.ts";
import { respondEncoded } from "./responses.ts";
import { basePath, type SiteRoute, siteRoute } from "./route.ts";
import type { HttpDependencies } from "./server.ts";

interface ChangeRouteDependencies extends Pick<HttpDependencies, "engine" | "resources"> {
  readonly authorizer: RequestAuthorizer;
  readonly longPolls: LongPolls;
}

/** Returns the routes of the feed, by path. */
export function feedRoutes(dependencies: ChangeRouteDependencies): [path: string, route: SiteRoute][] {
  const endpoint = new FeedEndpoint(dependencies);
  return formats.map((format) =>
    siteRoute<Omit<SiteRoute, "kind" | "label">>(`${basePath}changes.${format.name}`, {
      readOperation: "changes",
      methods: ["GET", "HEAD", "OPTIONS"],
      methodNotAllowedDetail: () => "the feed can only be read; change a record at the path of its resource",
      respond: (context, authorized) => endpoint.respond(context, format, authorized),
    }),
  );
}

/** The site of a page, and a head that the page must have reached. */
type SiteHead = Head & Pick<SiteView, "siteId">;

interface PageReading extends PollRead {
  readonly page: EncodedPage;
}

class FeedEndpoint {
  readonly #dependencies: ChangeRouteDependencies;
  readonly #served: readonly Resource[];
  readonly #pages: FeedPageCache;
  /** The first reads of requests, queued by site. After a change has woken thousands of clients, they all send their next requests at once. */
  readonly #readQueue = new FairQueue<number>();

  constructor(dependencies: ChangeRouteDependencies) {
    this.#dependencies = dependencies;
    this.#served = publicResources(dependencies.resources);
    this.#pages = new FeedPageCache(dependencies.engine);
  }

  async respond(context: RequestContext, format: Format, { key, siteView }: AuthorizedView): Promise<WireResponse> {
    const query = parseFeedParameters(this.#served, context.target.query);
    const first = await this.#readQueue.run(siteView.siteId, () => this.#read(context, format, query, siteView));
    const { page } = await this.#longPollIfEmpty(context, key, format, query, first);
    const coding = chooseCoding(context.request.headers.get("accept-encoding"), page.body.length);
    return respondEncoded(context, format.contentType, page.body, coding, { Vary: "Accept-Encoding" });
  }

  /** Returns `first` if it has content or the client does not want to wait. Otherwise holds the request as a long poll, and returns its last read. */
  async #longPollIfEmpty(
    context: RequestContext,
    key: ApiKey,
    format: Format,
    query: FeedParameters,
    first: PageReading,
  ): Promise<PageReading> {
    const { waitMs, since } = query;
    if (first.hasContent || waitMs === 0 || since === "now" || context.method === "HEAD") return first;
    const { authorizer, longPolls } = this.#dependencies;
    const read = async ({ siteId, page }: PageReading, head: Head) => {
      try {
        return await this.#read(context, format, { ...query, since: page.next }, { siteId, ...head });
      } catch (error) {
        // If the site was removed, its journal is deleted too, and the read fails with another error. Reauthorizing throws the error for the client.
        await authorizer.reauthorize(context, () => {});
        throw error;
      }
    };
    return longPolls.waitForContent(context, { key, wait: waitMs, first, read });
  }

  /** Reads a page and then authorizes again. If the epoch has changed, repeats both. */
  #read(context: RequestContext, format: Format, query: FeedParameters, siteHead: SiteHead): Promise<PageReading> {
    return this.#dependencies.authorizer.repeatIfOutdated(context, { siteView: siteHead }, (current) =>
      this.#readAndReauthorize(context, format, query, current.siteView),
    );
  }

  async #readAndReauthorize(
    context: RequestContext,
    format: Format,
    query: FeedParameters,
    { siteId, revision, epoch, timeline }: SiteHead,
  ): Promise<PageReading> {
    const page = await this.#readPage(siteId, { revision, epoch, timeline }, query, format);
    // Authorize again, because the key may have been revoked or the site removed while the page was read.
    return this.#dependencies.authorizer.reauthorize(context, ({ systemHead }) => ({
      page,
      siteId,
      head: page.head,
      system: systemHead,
      hasContent: !page.isEmpty || page.hasMore,
    }));
  }

  async #readPage(siteId: number, head: Head, query: FeedParameters, format: Format): Promise<EncodedPage> {
    if (query.since !== "now") return this.#pages.getPage(siteId, head, query, format);
    const position = { next: await readCursorAt(this.#dependencies.engine, siteId, head), hasMore: false };
    return { ...position, isEmpty: true, body: encodeEmptyPage(format, position), head };
  }
}

// The parameters of the feed (contract section 10).

export interface FeedParameters {
  /** The cursor after which the page begins, not checked yet; or `now`, for an empty page with the cursor of this moment. */
  readonly since: string;
  /** Maximum number of changes in the page, before `collapse`. */
  readonly limit: number;
  /** Milliseconds to wait for a change if the page is empty. */
  readonly waitMs: number;
  /** The resources of the changes to return. */
  readonly resources: readonly Resource[];
  /** Whether to return only the last change to each record in the page. */
  readonly isCollapsed: boolean;
}

/** The names that clients may write for each parameter, normalized to letters and digits. The first of them is the right one. */
const names: readonly (readonly [parameter: string, likenesses: string])[] = [
  [
    "since",
    "since sincecursor cursor after startafter startingafter updatedsince modifiedsince from next token deltatoken",
  ],
  ["limit", "limit take top max maxresults size count perpage pagesize"],
  ["wait", "wait timeout poll longpoll"],
  ["resource", "resource resources resourcetype type types"],
  ["collapse", "collapse collapsed compact"],
];

const parameterOf = new Map(names.flatMap(([name, likenesses]) => likenesses.split(" ").map((one) => [one, name])));
const known: ReadonlySet<string> = new Set(names.map(([name]) => name));

/**
 * Parses the parameters of the feed.
 * @param served all public resources
 * @throws ProblemError `bad-request` for a bad value, or a parameter that looks like a mistake
 */
function parseFeedParameters(served: readonly Resource[], query: string): FeedParameters {
  const parameters = new URLSearchParams(query);
  rejectUnknownParameters(served, parameters);
  const wanted = joinValues(parameters, "resource");
  return {
    since: single(parameters, "since") ?? firstCursor,
    limit: readNumber(parameters, "limit", { min: 1, max: maxPageSize, byDefault: defaultFeedLimit }),
    waitMs: 1000 * readNumber(parameters, "wait", { min: 0, max: maxFeedWaitSeconds, byDefault: 0 }),
    resources: wanted === undefined ? served : readResources(served, wanted),
    isCollapsed: isOne("collapse", single(parameters, "collapse")),
  };
}

function isOne(name: string, value: string | undefined): boolean {
  if (value === undefined || value === "1") return value === "1";
  throw new ProblemError("bad-request", `\`${name}\` must be 1, not \`${value.slice(0, 40)}\`; or leave it out`);
}

function readResources(served: readonly Resource[], wanted: readonly string[]): readonly Resource[] {
  const paths = served.map(({ path }) => path);
  const unknown = wanted.find((path) => !paths.includes(path));
  if (unknown === undefined) return served.filter(({ path }) => wanted.includes(path));
  const meant = findNearest(unknown, paths);
  const hint =
    meant === undefined ? `there is ${paths.map((path) => `\`${path}\``).join(", ")}` : `did you mean \`${meant}\`?`;
  throw new ProblemError("bad-request", `\`resource\`: there is no resource \`${unknown.slice(0, 100)}\`; ${hint}`);
}

/** Rejects unknown parameters if the client probably expects an effect of them. Others are ignored. @throws ProblemError `bad-request` */
function rejectUnknownParameters(served: readonly Resource[], parameters: URLSearchParams): void {
  for (const [name, value] of parameters) {
    if (known.has(name)) continue;
    const short = name.slice(0, 200);
    const meant = parameterOf.get(normalizeName(short));
    const isOfLists = served.some((resource) => isListParameter(resource, short, value.slice(0, 40)));
    if (meant === undefined && !isOfLists) continue;
    const instead =
      meant === undefined ? `there is ${[...known].map((one) => `\`${one}\``).join(", ")}` : `write \`${meant}\``;
    throw new ProblemError("bad-request", `the feed has no parameter \`${name.slice(0, 100)}\`; ${instead}`);
  }
}

function isListParameter(resource: Resource, name: string, value: string): boolean {
  return suggestParameter(resource, name, value) !== undefined;
}
