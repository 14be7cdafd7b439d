import type { StorefrontFailure, StorefrontProblem } from "./storefront-errors.ts";

export interface ClientOptions {
  /** The URL of the website, such as `https://shop.example`, or `https://host.example/shop/` if the interface is below a path. */
  readonly url: string;
  /** An API key of the website. */
  readonly key: string;
  /** Time limit of one attempt, from the request to the end of the response, in milliseconds. Default: 10,000. */
  readonly timeout?: number;
  /** How often to retry a failed request, 0 to 20. Default: 3. */
  readonly retries?: number;
  /** The longest `Retry-After` to wait for, in milliseconds. Beyond it, the call throws the problem. Default: 60,000. */
  readonly maxRetryAfter?: number;
  /** Sends PUT and DELETE as POST with `X-HTTP-Method-Override`, for proxies that let only GET and POST through. */
  readonly methodOverride?: boolean;
  /** Replaces the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Called with every response, before the call throws a problem or retries. An exception in it ends the call. */
  readonly onResponse?: (info: ResponseInfo) => void;
  /** Called before the wait for a retry. An exception in it ends the call. */
  readonly onRetry?: (info: RetryInfo) => void;
}

/** One request of a call. */
export interface AttemptInfo {
  readonly method: string;
  readonly url: string;
  /** Counts from 1. */
  readonly attempt: number;
}

export interface ResponseInfo extends AttemptInfo {
  readonly status: number;
  /** The ID of the request in the server's log. */
  readonly requestId: string | undefined;
  /** The rest of the key's rate limit. Undefined if it has none. */
  readonly rateLimit: RateLimit | undefined;
}

export interface RetryInfo extends AttemptInfo {
  /** Why the attempt failed. */
  readonly error: StorefrontProblem | StorefrontFailure;
  /** Milliseconds until the next attempt. */
  readonly wait: number;
}

/** The `RateLimit` header field. */
export interface RateLimit {
  /** Requests that you can send at once. */
  readonly remaining: number;
  /** Milliseconds until there are more. */
  readonly reset: number;
}

/** Checked `ClientOptions`, with the defaults. */
export interface ClientSettings extends Required<Omit<ClientOptions, "url" | "onResponse" | "onRetry">> {
  /** The URL of the website, ending in `/`. */
  readonly base: string;
  readonly onResponse: ((info: ResponseInfo) => void) | undefined;
  readonly onRetry: ((info: RetryInfo) => void) | undefined;
}

/** The longest delay of `setTimeout`, in milliseconds. */
export const maxDelay = 2 ** 31 - 1;

/** @throws TypeError for an invalid option, so that the mistake shows before the first request */
export function toSettings(options: ClientOptions): ClientSettings {
  const { key, timeout = 10_000, retries = 3, maxRetryAfter = 60_000, methodOverride = false } = options;
  if (typeof key !== "string" || key.trim() === "") throw new TypeError("`key` must be an API key of the website");
  // Throws if the key cannot be sent as a header field.
  new Headers({ "X-API-AUTH": key });
  return {
    base: toBase(options.url),
    key,
    timeout: checkedInteger("timeout", timeout, 1, maxDelay),
    retries: checkedInteger("retries", retries, 0, 20),
    maxRetryAfter: checkedInteger("maxRetryAfter", maxRetryAfter, 0, maxDelay),
    methodOverride,
    fetch: toFetch(options.fetch),
    onResponse: options.onResponse,
    onRetry: options.onRetry,
  };
}

/** @throws TypeError unless `value` is a whole number from `min` to `max` */
export function checkedInteger(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new TypeError(`\`${name}\` must be a whole number from ${min} to ${max}, not ${shown(value)}`);
}

/** A value for an error message. */
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

/** Reads the global `fetch` at each call, because a program may replace it later. */
function toFetch(fetch: ClientOptions["fetch"] = (url, init) => globalThis.fetch(url, init)) {
  if (typeof fetch === "function") return fetch;
  throw new TypeError("`fetch` must be a function");
}
