// The feed: GET /restapi/changes.json and .xml (contract section 10). Reads a page of changes. If the page is empty and the request has the parameter
// `wait`, holds the request as a long poll until there is a change.

import { type Format, formats } from "../formats/format.ts";
import { FairQueue } from "../lib/event-loop.ts";
import { lettersOf, nearest } from "../lib/text.ts";
import type { Head } from "../model/engine.ts";
import { OtherHistory, Refusal } from "../model/errors.ts";
import { defaultFeedLimit, maxFeedWait, maxPageSize } from "../model/limits.ts";
import { type Resource, servedOf } from "../model/resource.ts";
import { cursorAt } from "../store/changes/feed.ts";
import { firstCursor } from "../store/database/cursor.ts";
import type { FreshSite } from "../store/reads/site-views.ts";
import type { WireResponse } from "../wire/response.ts";
import type { Admission } from "./authorizer.ts";
import { joined, readNumber, single } from "./common/parameters.ts";
import { chooseCoding } from "./compression.ts";
import type { Key } from "./directory.ts";
import { type EncodedPage, emptyPage, FeedPages } from "./feed-page-cache.ts";
import type { Exchange } from "./handler.ts";
import { meantBy } from "./list-parameters.ts";
import type { Polls, Reading } from "./long-poll.ts";
import { respondEncoded } from "./responses.ts";
import { basePath, type SiteRoute, siteRoute } from "./route.ts";
import type { HttpDependencies } from "./server.ts";

interface ChangeRouteDependencies extends Pick<HttpDependencies, "engine" | "resources" | "snapshots"> {
  readonly admission: Admission;
  readonly polls: Polls;
}

/** Returns the routes of the feed, by path. */
export function changeRoutes(dependencies: ChangeRouteDependencies): [path: string, route: SiteRoute][] {
  const endpoint = new ChangesEndpoint(dependencies);
  return formats.map((format) =>
    siteRoute<Omit<SiteRoute, "kind" | "label">>(`${basePath}changes.${format.name}`, {
      reading: "changes",
      methods: ["GET", "HEAD", "OPTIONS"],
      whyNot: () => "the feed can only be read; change a record at the path of its resource",
      respond: (exchange, key, fresh) => endpoint.respond(exchange, key, format, fresh),
    }),
  );
}

interface PageReading extends Reading {
  readonly page: EncodedPage;
}

/** Maximum attempts to read a page of a site whose epoch changes. */
const maxReads = 3;

class ChangesEndpoint {
  readonly #dependencies: ChangeRouteDependencies;
  readonly #served: readonly Resource[];
  readonly #pages: FeedPages;
  /** The first reads of requests, queued by site. After a change has woken thousands of clients, they all send their next requests at once. */
  readonly #turns = new FairQueue<number>();

  constructor(dependencies: ChangeRouteDependencies) {
    this.#dependencies = dependencies;
    this.#served = servedOf(dependencies.resources);
    this.#pages = new FeedPages(dependencies.engine);
  }

  async respond(exchange: Exchange, key: Key, format: Format, fresh: FreshSite): Promise<WireResponse> {
    const query = readChangesQuery(this.#served, exchange.target.query);
    const first = await this.#turns.run(fresh.site, () => this.#read(exchange, format, query, fresh));
    const { page } = await this.#wait(exchange, key, format, query, first);
    const coding = chooseCoding(exchange.request.headers.get("accept-encoding"), page.body.length);
    return respondEncoded(exchange, format.contentType, page.body, coding, { Vary: "Accept-Encoding" });
  }

  /** Returns `first` if it has content or the client does not want to wait. Otherwise holds the request as a long poll, and returns its last read. */
  async #wait(
    exchange: Exchange,
    key: Key,
    format: Format,
    query: ChangesQuery,
    first: PageReading,
  ): Promise<PageReading> {
    const { wait, since } = query;
    if (first.isEnough || wait === 0 || since === "now" || exchange.method === "HEAD") return first;
    const { admission, polls } = this.#dependencies;
    const read = async ({ site, page }: PageReading, head: Head) => {
      try {
        return await this.#read(exchange, format, { ...query, since: page.next }, { site, ...head });
      } catch (error) {
        // If the site was removed, its journal is deleted too, and the read fails with another error. Reauthorizing throws the error for the client.
        await admission.readmit(exchange, () => {});
        throw error;
      }
    };
    return polls.wait(exchange, { key, wait, first, read });
  }

  /** Reads a page and then authorizes again. If the epoch has changed, repeats both. */
  async #read(
    exchange: Exchange,
    format: Format,
    query: ChangesQuery,
    { site, revision, epoch, timeline }: Head & Pick<FreshSite, "site">,
    attempt = 1,
  ): Promise<PageReading> {
    const { admission, snapshots } = this.#dependencies;
    try {
      const page = await this.#page(site, { revision, epoch, timeline }, query, format);
      // Authorize again, because the key may have been revoked or the site removed while the page was read.
      return await admission.readmit(exchange, () => ({
        page,
        site,
        head: page.head,
        system: snapshots.system,
        isEnough: !page.isEmpty || page.isMore,
      }));
    } catch (error) {
      if (!(error instanceof OtherHistory) || attempt === maxReads) throw error;
      return admission.readmit(exchange, (_, now) => this.#read(exchange, format, query, now, attempt + 1));
    }
  }

  async #page(site: number, head: Head, query: ChangesQuery, format: Format): Promise<EncodedPage> {
    if (query.since !== "now") return this.#pages.page(site, head, query, format);
    const position = { next: await cursorAt(this.#dependencies.engine, site, head), isMore: false };
    return { ...position, isEmpty: true, body: emptyPage(format, position), head };
  }
}

// The parameters of the feed (contract section 10).

export interface ChangesQuery {
  /** The cursor after which the page begins, not checked yet; or `now`, for an empty page with the cursor of this moment. */
  readonly since: string;
  /** Maximum number of changes in the page, before `collapse`. */
  readonly limit: number;
  /** Milliseconds to wait for a change if the page is empty. */
  readonly wait: number;
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
function readChangesQuery(served: readonly Resource[], query: string): ChangesQuery {
  const parameters = new URLSearchParams(query);
  refuseOthers(served, parameters);
  const limit = single(parameters, "limit");
  const wait = single(parameters, "wait");
  const wanted = joined(parameters, "resource");
  return {
    since: single(parameters, "since") ?? firstCursor,
    limit: limit === undefined ? defaultFeedLimit : readNumber("limit", limit, 1, maxPageSize),
    wait: wait === undefined ? 0 : 1000 * readNumber("wait", wait, 0, maxFeedWait),
    resources: wanted === undefined ? served : readResources(served, wanted),
    isCollapsed: isOne("collapse", single(parameters, "collapse")),
  };
}

function isOne(name: string, value: string | undefined): boolean {
  if (value === undefined || value === "1") return value === "1";
  throw new Refusal("bad-request", `\`${name}\` must be 1, not \`${value.slice(0, 40)}\`; or leave it out`);
}

function readResources(served: readonly Resource[], wanted: readonly string[]): readonly Resource[] {
  const paths = served.map(({ path }) => path);
  const unknown = wanted.find((path) => !paths.includes(path));
  if (unknown === undefined) return served.filter(({ path }) => wanted.includes(path));
  const meant = nearest(unknown, paths);
  const hint =
    meant === undefined ? `there is ${paths.map((path) => `\`${path}\``).join(", ")}` : `did you mean \`${meant}\`?`;
  throw new Refusal("bad-request", `\`resource\`: there is no resource \`${unknown.slice(0, 100)}\`; ${hint}`);
}

/** Rejects unknown parameters if the client probably expects an effect of them. Others are ignored. @throws ProblemError `bad-request` */
function refuseOthers(served: readonly Resource[], parameters: URLSearchParams): void {
  for (const [name, value] of parameters) {
    if (known.has(name)) continue;
    const short = name.slice(0, 200);
    const meant = parameterOf.get(lettersOf(short));
    const isOfLists = served.some((resource) => isListParameter(resource, short, value.slice(0, 40)));
    if (meant === undefined && !isOfLists) continue;
    const instead =
      meant === undefined ? `there is ${[...known].map((one) => `\`${one}\``).join(", ")}` : `write \`${meant}\``;
    throw new Refusal("bad-request", `the feed has no parameter \`${name.slice(0, 100)}\`; ${instead}`);
  }
}

function isListParameter(resource: Resource, name: string, value: string): boolean {
  return meantBy(resource, name, value) !== undefined;
}
