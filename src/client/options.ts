import type { StorefrontFailure, StorefrontProblem } from "./storefront-errors.ts";

/** Options of `createClient`. */
export interface ClientOptions {
  /** The site's URL, such as `https://shop.example`, or `https://host.example/shop/` if the interface is below a path. */
  readonly url: string;
  /** One of the site's API keys. If it's undefined, as an environment variable can be, `createClient` throws a `TypeError`. */
  readonly key: string | undefined;
  /** Time limit for one attempt, up to the end of the response, in milliseconds. Default: 10,000. */
  readonly timeout?: number;
  /** Maximum number of retries after a failed request, 0 to 20. Default: 3. */
  readonly retries?: number;
  /** Longest `Retry-After` to wait for, in milliseconds. If the server asks for more, the call throws the problem. Default: 60,000. */
  readonly maxRetryAfter?: number;
  /**
   * How long a call may wait for the key's rate limit, in milliseconds from the start of the call. If it would have to wait longer, it throws a
   * StorefrontFailure with the reason `rate-limit`. Default: 300,000. With 0, requests are sent immediately, and a 429 is retried like any temporary
   * failure.
   */
  readonly maxRateLimitWait?: number;
  /** Sends PUT and DELETE as POST with `X-HTTP-Method-Override`, for proxies that only allow GET and POST. */
  readonly methodOverride?: boolean;
  /** Used instead of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Called with every response, before the call throws or retries. If it throws, the call ends with that exception. */
  readonly onResponse?: (info: ResponseInfo) => void;
  /**
   * Called once, when the server says that the key expires within 30 days. If it throws, the call ends with that exception. Default: writes a warning to
   * the console.
   */
  readonly onKeyExpiring?: (expires: Date) => void;
  /** Called before waiting to retry. If it throws, the call ends with that exception. */
  readonly onRetry?: (info: RetryInfo) => void;
}

/** One attempt of a call. */
export interface AttemptInfo {
  readonly method: string;
  readonly url: string;
  /** Counted from 1. */
  readonly attempt: number;
}

/** A response, as passed to `onResponse`. */
export interface ResponseInfo extends AttemptInfo {
  readonly status: number;
  /** The request's ID in the server's log. */
  readonly requestId: string | undefined;
  /** The key's rate limit. Undefined if it has none. */
  readonly rateLimit: RateLimit | undefined;
}

/** A failed attempt that will be retried, as passed to `onRetry`. */
export interface RetryInfo extends AttemptInfo {
  readonly error: StorefrontProblem | StorefrontFailure;
  /** Milliseconds until the next attempt. */
  readonly wait: number;
}

/**
 * The key's rate limit, from the headers `RateLimit-Policy` and `RateLimit`. It works as a token bucket: each request takes a token, and tokens are
 * refilled steadily.
 */
export interface RateLimit {
  /** The bucket's size: how many requests you can send at once when it's full. */
  readonly limit: number;
  /** Milliseconds an empty bucket takes to fill up. */
  readonly window: number;
  /** Number of requests you can send now. */
  readonly remaining: number;
  /** Milliseconds until the bucket is full again. */
  readonly reset: number;
}

/** Validated `ClientOptions`, with defaults filled in. */
export interface ClientSettings extends Required<Omit<ClientOptions, "url" | "onResponse" | "onRetry">> {
  /** The URL of the site, ending in `/`. */
  readonly base: string;
  readonly onResponse: ((info: ResponseInfo) => void) | undefined;
  readonly onRetry: ((info: RetryInfo) => void) | undefined;
}

/** The longest delay `setTimeout` supports, in milliseconds. */
export const maxDelayMs = 2 ** 31 - 1;

/** Validates the options up front, so that a mistake shows before the first request. @throws TypeError */
export function toSettings(options: ClientOptions): ClientSettings {
  const { key, timeout = 10_000, retries = 3, maxRetryAfter = 60_000, methodOverride = false } = options;
  const { maxRateLimitWait = 300_000 } = options;
  if (key === undefined) throw new TypeError("`key` is missing; pass one of the site's API keys");
  if (typeof key !== "string" || key.trim() === "") throw new TypeError("`key` must be one of the site's API keys");
  // Throws if the key has characters that aren't allowed in a header.
  new Headers({ "X-API-AUTH": key });
  return {
    base: toBase(options.url),
    key,
    timeout: checkInteger("timeout", timeout, 1, maxDelayMs),
    retries: checkInteger("retries", retries, 0, 20),
    maxRetryAfter: checkInteger("maxRetryAfter", maxRetryAfter, 0, maxDelayMs),
    maxRateLimitWait: checkInteger("maxRateLimitWait", maxRateLimitWait, 0, maxDelayMs),
    methodOverride,
    fetch: toFetch(options.fetch),
    onResponse: options.onResponse,
    onKeyExpiring: once(options.onKeyExpiring ?? warnOfExpiry),
    onRetry: options.onRetry,
  };
}

function warnOfExpiry(expires: Date): void {
  console.warn(`The Storefront API key expires at ${expires.toISOString()}. Ask the site's operator for a new one.`);
}

/** Only passes on the first call, whichever of the client's requests it comes from. */
function once<T>(listener: (value: T) => void): (value: T) => void {
  let isDone = false;
  return (value) => {
    if (isDone) return;
    isDone = true;
    listener(value);
  };
}

/** @throws TypeError unless `value` is a whole number from `min` to `max` */
export function checkInteger(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new TypeError(`\`${name}\` must be a whole number from ${min} to ${max}, not ${formatValue(value)}`);
}

/** Formats a value for an error message. */
export function formatValue(value: unknown): string {
  return typeof value === "string" ? `"${value.slice(0, 80)}"` : String(value);
}

/** Returns the value of a record's field. @param path such as `Address.Town` */
export function valueAt(record: object, path: string): unknown {
  return path.split(".").reduce((item: unknown, name) => (item as Record<string, unknown>)?.[name], record);
}

function toBase(text: string): string {
  const url = new URL(text);
  const isPlain = !url.username && !url.password && !url.search && !url.hash;
  if (!/^https?:$/.test(url.protocol) || !isPlain) {
    throw new TypeError("`url` must be an http or https URL without a user, query or fragment");
  }
  return url.href.replace(/\/*$/, "/");
}

/** Without the option, looks up the global `fetch` on each call, because a program may replace it later. */
function toFetch(fetch: ClientOptions["fetch"] = (url, init) => globalThis.fetch(url, init)) {
  if (typeof fetch === "function") return fetch;
  throw new TypeError("`fetch` must be a function");
}
