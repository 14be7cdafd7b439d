import type { StorefrontFailure, StorefrontProblem } from "./errors.ts";

export interface ClientOptions {
  /** The website's address, such as `https://shop.example`, with a path if the interface is below one: `https://host.example/shop/`. */
  readonly url: string;
  /** An API key of the website. */
  readonly key: string;
  /** Milliseconds that one attempt may take, from the request to the end of the response; 10 seconds unless said. */
  readonly timeout?: number;
  /** How often a request that failed is tried again, 0 to 20 times; 3 times unless said. */
  readonly retries?: number;
  /** Milliseconds that a `Retry-After` may ask for; when it asks for more, the problem is thrown. One minute unless said. */
  readonly longestWait?: number;
  /** Sends PUT and DELETE as POST with `X-HTTP-Method-Override`, for proxies that let only GET and POST through. */
  readonly methodOverride?: boolean;
  /** Takes the place of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Is called with each response, also before a problem is thrown or the request is tried again. What it throws ends the call. */
  readonly onResponse?: (info: ResponseInfo) => void;
  /** Is called before the wait for another attempt. What it throws ends the call. */
  readonly onRetry?: (info: RetryInfo) => void;
}

/** One of the requests of a call. */
export interface AttemptInfo {
  readonly method: string;
  readonly url: string;
  /** 1 for the first. */
  readonly attempt: number;
}

export interface ResponseInfo extends AttemptInfo {
  readonly status: number;
  /** Names the request in the server's log. */
  readonly requestId: string | undefined;
  /** What is left of the key's allowance, where it has one. */
  readonly rateLimit: RateLimit | undefined;
}

export interface RetryInfo extends AttemptInfo {
  /** Why the attempt failed. */
  readonly error: StorefrontProblem | StorefrontFailure;
  /** Milliseconds until the next attempt. */
  readonly wait: number;
}

/** The `RateLimit` header. */
export interface RateLimit {
  /** Requests that may be sent at once. */
  readonly remaining: number;
  /** Milliseconds until there are more. */
  readonly reset: number;
}

/** `ClientOptions` with what they leave out, checked. */
export interface Settings extends Required<Omit<ClientOptions, "url" | "onResponse" | "onRetry">> {
  /** The website's address, ending in `/`. */
  readonly base: string;
  readonly onResponse: ((info: ResponseInfo) => void) | undefined;
  readonly onRetry: ((info: RetryInfo) => void) | undefined;
}

/** The longest that a timer can take. */
const longestTimer = 2 ** 31 - 1;

/** @throws TypeError for an option that cannot work, so that it is not found out by a request */
export function toSettings(options: ClientOptions): Settings {
  const { key, timeout = 10_000, retries = 3, longestWait = 60_000, methodOverride = false } = options;
  if (typeof key !== "string" || key.trim() === "") throw new TypeError("`key` must be an API key of the website");
  // Throws for what no header can carry.
  new Headers({ "X-API-AUTH": key });
  return {
    base: toBase(options.url),
    key,
    timeout: inRange("timeout", timeout, 1, longestTimer),
    retries: inRange("retries", retries, 0, 20),
    longestWait: inRange("longestWait", longestWait, 0, longestTimer),
    methodOverride,
    fetch: toFetch(options.fetch),
    onResponse: options.onResponse,
    onRetry: options.onRetry,
  };
}

/** @throws TypeError unless `value` is a whole number from `least` to `most` */
export function inRange(name: string, value: unknown, least: number, most: number): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  throw new TypeError(`\`${name}\` must be a whole number from ${least} to ${most}, not ${shown(value)}`);
}

/** A value as a message shows it. */
export function shown(value: unknown): string {
  return typeof value === "string" ? `"${value.slice(0, 80)}"` : String(value);
}

function toBase(text: string): string {
  const url = new URL(text);
  const isPlain = !url.username && !url.password && !url.search && !url.hash;
  if (!/^https?:$/.test(url.protocol) || !isPlain) {
    throw new TypeError("`url` must be an http or https address without a user, a query or a fragment");
  }
  return url.href.replace(/\/*$/, "/");
}

/** The global `fetch` is looked up at each call: something may replace it later. */
function toFetch(fetch: ClientOptions["fetch"] = (url, init) => globalThis.fetch(url, init)) {
  if (typeof fetch === "function") return fetch;
  throw new TypeError("`fetch` must be a function");
}
