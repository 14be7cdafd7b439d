import type { StorefrontFailure, StorefrontProblem } from "./storefront-errors.ts";

/** Options of `createClient`. */
export interface ClientOptions {
  /** The URL of the site, such as `https://shop.example`, or `https://host.example/shop/` if the interface is below a path. */
  readonly url: string;
  /** An API key of the site. */
  readonly key: string;
  /** Time limit of one attempt, from the request to the end of the response, in milliseconds. Default: 10,000. */
  readonly timeout?: number;
  /** Maximum number of retries of a failed request, 0 to 20. Default: 3. */
  readonly retries?: number;
  /** Maximum `Retry-After` to wait for, in milliseconds. If it is longer, the call throws the problem. Default: 60,000. */
  readonly maxRetryAfter?: number;
  /**
   * Maximum milliseconds after the beginning of a call for which it waits for the rate limit of the key. If it would wait for longer, the call throws
   * a StorefrontFailure with the reason `rate-limit`. 0: requests are sent at once, and 429 is retried like other temporary failures. Default: 300,000.
   */
  readonly maxRateLimitWait?: number;
  /** Sends PUT and DELETE as POST with `X-HTTP-Method-Override`, for proxies that allow only GET and POST. */
  readonly methodOverride?: boolean;
  /** Replaces the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Called with every response, before the call throws a problem or retries. An exception in it ends the call. */
  readonly onResponse?: (info: ResponseInfo) => void;
  /** Called before the wait for a retry. An exception in it ends the call. */
  readonly onRetry?: (info: RetryInfo) => void;
}

/** One attempt of a call: one request. */
export interface AttemptInfo {
  readonly method: string;
  readonly url: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
}

/** A response, for `onResponse`. */
export interface ResponseInfo extends AttemptInfo {
  readonly status: number;
  /** The ID of the request in the server's log. */
  readonly requestId: string | undefined;
  /** The rate limit of the key. Undefined if the key has no limit. */
  readonly rateLimit: RateLimit | undefined;
}

/** A failed attempt that will be retried, for `onRetry`. */
export interface RetryInfo extends AttemptInfo {
  /** Why the attempt failed. */
  readonly error: StorefrontProblem | StorefrontFailure;
  /** Milliseconds until the next attempt. */
  readonly wait: number;
}

/** The header fields `RateLimit-Policy` and `RateLimit`: a bucket of tokens, from which each request takes one. */
export interface RateLimit {
  /** Maximum number of requests that you can send at once. */
  readonly limit: number;
  /** Milliseconds in which an empty bucket fills. */
  readonly window: number;
  /** Number of requests that you can send now. */
  readonly remaining: number;
  /** Milliseconds until the bucket is full. */
  readonly reset: number;
}

/** Valid `ClientOptions`, completed with the defaults. */
export interface ClientSettings extends Required<Omit<ClientOptions, "url" | "onResponse" | "onRetry">> {
  /** The URL of the site, ending in `/`. */
  readonly base: string;
  readonly onResponse: ((info: ResponseInfo) => void) | undefined;
  readonly onRetry: ((info: RetryInfo) => void) | undefined;
}

/** The maximum delay of `setTimeout`, in milliseconds. */
export const maxDelayMs = 2 ** 31 - 1;

/** Checks the options. @throws TypeError for an invalid option, so that a mistake is found before the first request */
export function toSettings(options: ClientOptions): ClientSettings {
  const { key, timeout = 10_000, retries = 3, maxRetryAfter = 60_000, methodOverride = false } = options;
  const { maxRateLimitWait = 300_000 } = options;
  if (typeof key !== "string" || key.trim() === "") throw new TypeError("`key` must be an API key of the site");
  // Throws if the key cannot be sent as a header field.
  new Headers({ "X-API-AUTH": key });
  return {
    base: toBase(options.url),
    key,
    timeout: checkedInteger("timeout", timeout, 1, maxDelayMs),
    retries: checkedInteger("retries", retries, 0, 20),
    maxRetryAfter: checkedInteger("maxRetryAfter", maxRetryAfter, 0, maxDelayMs),
    maxRateLimitWait: checkedInteger("maxRateLimitWait", maxRateLimitWait, 0, maxDelayMs),
    methodOverride,
    fetch: toFetch(options.fetch),
    onResponse: options.onResponse,
    onRetry: options.onRetry,
  };
}

/** Checks a number. @throws TypeError unless `value` is a whole number from `min` to `max` */
export function checkedInteger(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new TypeError(`\`${name}\` must be a whole number from ${min} to ${max}, not ${shown(value)}`);
}

/** Formats a value for an error message. */
export function shown(value: unknown): string {
  return typeof value === "string" ? `"${value.slice(0, 80)}"` : String(value);
}

function toBase(text: string): string {
  const url = new URL(text);
  const isPlain = !url.username && !url.password && !url.search && !url.hash;
  if (!/^https?:$/.test(url.protocol) || !isPlain) {
    throw new TypeError("`url` must be an http or https URL without a user, a query or a fragment");
  }
  return url.href.replace(/\/*$/, "/");
}

/** Returns the option `fetch`. By default, returns a function that reads the global `fetch` at each call, because a program may replace it later. */
function toFetch(fetch: ClientOptions["fetch"] = (url, init) => globalThis.fetch(url, init)) {
  if (typeof fetch === "function") return fetch;
  throw new TypeError("`fetch` must be a function");
}
