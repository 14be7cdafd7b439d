// The feed: GET /restapi/changes.json and .xml (contract section 10).

import { type Format, formats } from "../formats/format.ts";
import { FairQueue } from "../lib/fair-queue.ts";
import type { Head } from "../model/engine.ts";
import { type Resource, servedOf } from "../model/resource.ts";
import { OtherHistory } from "../store/cold-site.ts";
import { cursorAt } from "../store/feed.ts";
import type { FreshSite } from "../store/snapshots.ts";
import type { WireResponse } from "../wire/response.ts";
import type { Admission } from "./admission.ts";
import { type ChangesQuery, readChangesQuery } from "./changes-query.ts";
import { chooseCoding } from "./compression.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { Key } from "./directory.ts";
import type { Exchange } from "./exchange.ts";
import { type EncodedPage, emptyPage, FeedPages } from "./feed-pages.ts";
import type { Polls, Reading } from "./poll.ts";
import { respondEncoded } from "./responses.ts";
import { basePath, type SiteRoute, siteRoute } from "./route.ts";

interface ChangeRouteDependencies extends Pick<HttpDependencies, "engine" | "resources" | "snapshots"> {
  readonly admission: Admission;
  readonly polls: Polls;
}

/** The routes by path. */
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

/** How often a page is read whose site gets another history meanwhile, the first time included. */
const maxReads = 3;

class ChangesEndpoint {
  readonly #dependencies: ChangeRouteDependencies;
  readonly #served: readonly Resource[];
  readonly #pages: FeedPages;
  /** By site. When a change has woken thousands of clients, they all come back at once. */
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

  /** Waits for the next change, if that is wanted and there is nothing to return. */
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
        // The history of a removed site is gone too.
        await admission.readmit(exchange, () => {});
        throw error;
      }
    };
    return polls.wait(exchange, { key, wait, first, read });
  }

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
      // While the page was read, the key may have been revoked or the site removed.
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
