// Keeps each site's latest requests for the console, in bounded memory. Problems are always logged. Successful requests only are for ten minutes after an
// operator has looked, so they cost nothing otherwise.

import { randomText } from "../lib/text.ts";
import { redactKeys } from "../model/api-key.ts";
import { filterName, parameterNames } from "../model/parameters.ts";
import { findTextField, publicResources, type Resource } from "../model/resource.ts";
import { bodyLength, type WireResponse } from "../wire/response.ts";
import { sentPrefix } from "./authorization/sent-key.ts";
import { type LoggedRequest, maxLoggedRequests, type RequestFilter, type RequestsAnswer } from "./common/activity.ts";
import type { RequestContext } from "./request-context.ts";
import { toProblemDocument } from "./responses.ts";

/** How long a site's successful requests are logged after an operator has looked. */
const watchedMs = 600_000;
/** Per site, for problems and successful requests each. Beyond that, requests are only counted. */
const maxPerSecond = 100;
/** For all sites together. Beyond that, the site that's been quiet longest loses its logs. */
const maxTotalChars = 8 * 1024 * 1024;
/** How many sites can have their successful requests logged. */
const maxWatched = 200;

const maxChars = { method: 40, path: 300, query: 300, detail: 500, field: 100, error: 200 };
const maxErrors = 5;
const maxParameters = 20;

/** A logged request as JSON, and what filters compare. */
interface Entry extends Pick<LoggedRequest, "at" | "status" | "key"> {
  readonly problem: string | undefined;
  /** The order of logging, because many requests end in the same millisecond. */
  readonly number: number;
  readonly json: string;
}

/** A site's problems or its successful requests, oldest first. */
interface Log {
  readonly entries: Entry[];
  second: number;
  inSecond: number;
  leftOut: number;
}

interface SiteLogs {
  readonly problems: Log;
  readonly successes: Log;
}

export class RecentRequests {
  readonly #now: () => number;
  readonly #isFiltered: (path: string) => boolean;
  /** By site, starting with the one that's been quiet longest. */
  readonly #sites = new Map<number, SiteLogs>();
  /** Until when a site's successful requests are logged, as of `performance.now()`. */
  readonly #watchedUntil = new Map<number, number>();
  readonly #idPrefix = randomText(6);
  #count = 0;
  #chars = 0;

  /** @param now milliseconds since 1970 */
  constructor(resources: readonly Resource[], now: () => number) {
    this.#now = now;
    const served = publicResources(resources);
    this.#isFiltered = (path) => path === "ID" || served.some((resource) => findTextField(resource, path));
  }

  /**
   * Logs a response if it's a problem or an operator is watching its site.
   * @param milliseconds how long the response took
   * @param at the current `performance.now()`
   */
  record(context: RequestContext, response: WireResponse, milliseconds: number, at: number): void {
    const isProblem = response.status >= 400;
    if (!isProblem && this.#watchedUntil.size === 0) return;
    const site = siteIdOf(context);
    if (site !== undefined && (isProblem || this.#isWatched(site, at)))
      this.#log(site, context, response, milliseconds);
  }

  /** Returns a site's latest requests that pass `filter`, and logs its successful requests for the next ten minutes. */
  answer(site: number, filter: RequestFilter): RequestsAnswer {
    this.#watch(site, performance.now());
    const logs = this.#sites.get(site);
    const entries = logs ? [...logs.problems.entries, ...logs.successes.entries] : [];
    const found = entries.filter((entry) => passes(entry, filter)).sort((one, other) => other.number - one.number);
    return {
      kind: "requests",
      requests: found.slice(0, maxLoggedRequests).map(({ json }): LoggedRequest => JSON.parse(json)),
    };
  }

  #watch(site: number, at: number): void {
    for (const [watched, until] of this.#watchedUntil) if (until <= at) this.#watchedUntil.delete(watched);
    if (this.#watchedUntil.size < maxWatched || this.#watchedUntil.has(site))
      this.#watchedUntil.set(site, at + watchedMs);
  }

  #isWatched(site: number, at: number): boolean {
    const until = this.#watchedUntil.get(site);
    if (until === undefined) return false;
    if (at < until) return true;
    this.#watchedUntil.delete(site);
    return false;
  }

  #log(site: number, context: RequestContext, response: WireResponse, milliseconds: number): void {
    const logs = this.#logsOf(site);
    const log = response.status >= 400 ? logs.problems : logs.successes;
    const at = this.#now();
    const second = Math.floor(at / 1000);
    if (second !== log.second) Object.assign(log, { second, inSecond: 0 });
    if (++log.inSecond > maxPerSecond) return void log.leftOut++;
    const number = this.#count++;
    const common = { id: `${this.#idPrefix}${number}`, at, ...(log.leftOut > 0 && { leftOut: log.leftOut }) };
    const logged = { ...common, ...this.#toLogged(context, response, milliseconds) };
    log.leftOut = 0;
    // JSON makes a new string. A slice of the request target would keep the whole header section in memory.
    const json = JSON.stringify(logged);
    const { status, key, problem } = logged;
    log.entries.push({ at, status, key, problem: problem?.code, number, json });
    this.#chars += json.length - (log.entries.length > maxLoggedRequests ? (log.entries.shift()?.json.length ?? 0) : 0);
    this.#evict();
  }

  /** Returns a site's logs and makes them the last to be evicted. */
  #logsOf(site: number): SiteLogs {
    const newLog = (): Log => ({ entries: [], second: 0, inSecond: 0, leftOut: 0 });
    const logs = this.#sites.get(site) ?? { problems: newLog(), successes: newLog() };
    this.#sites.delete(site);
    this.#sites.set(site, logs);
    return logs;
  }

  #evict(): void {
    for (const [site, { problems, successes }] of this.#sites) {
      if (this.#chars <= maxTotalChars) return;
      for (const { json } of [...problems.entries, ...successes.entries]) this.#chars -= json.length;
      this.#sites.delete(site);
    }
  }

  #toLogged(context: RequestContext, { status, body }: WireResponse, milliseconds: number) {
    const { request, target, id, problem } = context;
    const query = target.query === "" ? "" : `?${this.#shownQuery(target.query)}`;
    return {
      method: shorten(redactKeys(request.method), maxChars.method),
      path: shorten(redactKeys(target.path), maxChars.path) + shorten(redactKeys(query), maxChars.query),
      status,
      milliseconds: Math.round(milliseconds * 100) / 100,
      bytes: request.method === "HEAD" ? 0 : bodyLength(body),
      request: String(id),
      key: sentPrefix(context),
      problem: problem && { code: problem.code, ...toLoggedErrors(toProblemDocument(context, problem)) },
    };
  }

  /** Hides the values of parameters that the interface doesn't declare, since they may be secrets. */
  #shownQuery(query: string): string {
    const parameters = query.split("&", maxParameters + 1);
    const shown = parameters.slice(0, maxParameters).map((parameter) => {
      const [name = ""] = parameter.split("=", 1);
      if (this.#isDeclared(name) || name === parameter) return parameter;
      return `${name}=...`;
    });
    return shown.join("&") + (parameters.length > maxParameters ? "&..." : "");
  }

  #isDeclared(sent: string): boolean {
    const [name = ""] = new URLSearchParams(sent).keys();
    const [, path, operator = "in"] = filterName.exec(name) ?? [];
    if (path === undefined) return name !== "filter" && parameterNames.has(name);
    return this.#isFiltered(path) && /^(?:contains|in)$/.test(operator);
  }
}

/** Undefined if no site has the host. */
function siteIdOf({ site, sandbox, key }: RequestContext): number | undefined {
  return sandbox !== undefined && key ? key.siteId : site?.id;
}

function passes({ at, status, key, problem }: Entry, filter: RequestFilter): boolean {
  if (filter.after !== undefined && at < filter.after) return false;
  if (filter.statusClass !== undefined && Math.floor(status / 100) !== filter.statusClass) return false;
  return (
    (filter.key === undefined || key === filter.key) && (filter.problem === undefined || problem === filter.problem)
  );
}

/** Keys in the document are already shortened. */
function toLoggedErrors({ detail, errors = [] }: ReturnType<typeof toProblemDocument>) {
  return {
    detail: shorten(detail, maxChars.detail),
    errors: errors.slice(0, maxErrors).map((error) => ({
      field: shorten(error.field, maxChars.field),
      detail: shorten(error.detail, maxChars.error),
    })),
  };
}

function shorten(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}...` : text;
}
