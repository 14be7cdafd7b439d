import { type AttemptInfo, type ClientSettings, checkedInteger, maxDelayMs } from "./options.ts";
import { parseRateLimit } from "./rate-limit.ts";
import type { RequestQueue } from "./request-queue.ts";
import { StorefrontFailure, StorefrontProblem, toProblem, tryParseJson } from "./storefront-errors.ts";
import { pause, waitAfter, withTimeLimit } from "./wait.ts";

/** Options of every method. */
export interface CallOptions {
  /** Ends the call and its retries. The call then throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit of one attempt, in milliseconds. */
  readonly timeout?: number;
}

/** A request before it has a URL and header fields. */
export interface ClientRequest extends CallOptions {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** The path below `/restapi/`. */
  readonly path: string;
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Milliseconds for which the server may hold the request (long poll). They are added to the time limit. */
  readonly serverWaitMs?: number;
}

/** A successful response. */
export interface ParsedResponse {
  readonly headers: Headers;
  /** The parsed JSON. */
  readonly body: object;
}

/** Sends a request. Returns undefined if the record or list has not changed since `ifNoneMatch`. */
export type Send = (request: ClientRequest) => Promise<ParsedResponse | undefined>;

interface PreparedRequest {
  readonly url: string;
  readonly init: RequestInit & { readonly method: string };
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Creates a function that sends requests, and retries them after temporary failures. Retrying a write is safe, because the server executes
 * writes with the same `Idempotency-Key` only once.
 * @param queue the queue of all requests with the same key
 */
export function createSend(settings: ClientSettings, queue: RequestQueue): Send {
  return async (request) => {
    // This throws for mistakes in the request itself. They are not retried.
    const prepared = prepare(request, settings);
    const { signal } = prepared;
    const call = queue.createCall(signal, settings.maxRateLimitWait, (request.serverWaitMs ?? 0) > 0);
    let failure: unknown;
    for (let attempt = 1, retries = 0; ; attempt++) {
      const info = { method: prepared.init.method, url: prepared.url, attempt };
      const permit = await queue.acquire(call, failure);
      try {
        return await sendOnce(prepared, info, settings, (response) => queue.release(permit, response));
      } catch (error) {
        const isOurs = error instanceof StorefrontProblem || error instanceof StorefrontFailure;
        if (!isOurs || signal?.aborted) throw error;
        // The server has rejected the request without doing anything, so this is not a retry: the call waits in the queue again.
        const isQueued = permit.isOverLimit && call.maxWaitMs > 0;
        const isLast = !isQueued && retries++ >= settings.retries;
        const retryWait = isLast ? undefined : waitAfter(error, retries, settings.maxRetryAfter);
        if (retryWait === undefined) throw error;
        const wait = isQueued ? queue.waitFor(call) : retryWait;
        settings.onRetry?.({ ...info, error, wait });
        if (!isQueued) await pause(wait, signal);
        failure = error;
      }
    }
  };
}

function prepare(request: ClientRequest, settings: ClientSettings): PreparedRequest {
  const { method, body, signal } = request;
  const isOverridden = settings.methodOverride && (method === "PUT" || method === "DELETE");
  const headers = Object.entries({
    "X-API-AUTH": settings.key,
    "Content-Type": body === undefined ? undefined : "application/json",
    "If-Match": request.ifMatch,
    "If-None-Match": request.ifNoneMatch,
    "Idempotency-Key": method === "GET" ? undefined : (request.idempotencyKey ?? randomKey()),
    "X-HTTP-Method-Override": isOverridden ? method : undefined,
  }).filter((header): header is [string, string] => header[1] !== undefined);
  // Throws if a value cannot be sent as a header field.
  new Headers(headers);
  return {
    url: `${settings.base}restapi/${request.path}`,
    init: {
      method: isOverridden ? "POST" : method,
      headers: Object.fromEntries(headers),
      redirect: "manual",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    },
    timeout: toTimeout(request, settings),
    signal,
  };
}

function toTimeout({ timeout, serverWaitMs = 0 }: ClientRequest, settings: ClientSettings): number {
  const limit = timeout === undefined ? settings.timeout : checkedInteger("timeout", timeout, 1, maxDelayMs);
  return Math.min(limit + serverWaitMs, maxDelayMs);
}

/** Returns a random `Idempotency-Key`. It does not use `crypto.randomUUID`, which is missing on pages without TLS. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param release called when the response begins, or when the attempt ends without a response */
async function sendOnce(
  prepared: PreparedRequest,
  info: AttemptInfo,
  settings: ClientSettings,
  release: (response?: Response) => void,
): Promise<ParsedResponse | undefined> {
  const { url, init, timeout, signal } = prepared;
  // Call `fetch` as a function, not as a method, because the `fetch` of browsers throws if `this` is another object.
  const { fetch, onResponse } = settings;
  return withTimeLimit(timeout, signal, async (limited) => {
    const rethrow = (error: unknown): never => {
      throw toThrown(error, signal, limited);
    };
    const response = await fetch(url, { ...init, signal: limited }).catch(rethrow);
    release(response);
    onResponse?.({
      ...info,
      status: response.status,
      requestId: response.headers.get("X-Request-Id") ?? undefined,
      rateLimit: parseRateLimit(response.headers),
    });
    return toParsed(response, await response.text().catch(rethrow), url, settings.base);
  }).finally(release);
}

/** Returns the error that the call throws if the platform threw `error` instead of returning a response. */
function toThrown(error: unknown, signal: AbortSignal | undefined, limited: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if (limited.aborted)
    return new StorefrontFailure("timeout", "no complete response within the timeout", { cause: error });
  if (isMistake(error)) return error;
  const message = `no response: ${error instanceof Error ? error.message : error}`;
  return new StorefrontFailure("network", message, { cause: error });
}

/** Matches the messages of browsers for network failures. Other platforms set a cause or a code. */
const networkMessages = /fetch|network|load failed|connection|offline|terminated|error sending request/i;

/** Whether the error is a mistake in the program, for example in your own `fetch`. Platforms also throw a TypeError for a network failure. */
function isMistake(error: unknown): boolean {
  if (!(error instanceof TypeError)) return error instanceof ReferenceError || error instanceof RangeError;
  return error.cause === undefined && !("code" in error) && !networkMessages.test(error.message);
}

function toParsed(response: Response, text: string, url: string, base: string): ParsedResponse | undefined {
  const { status, headers, type } = response;
  if (status === 304) return undefined;
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
    const target = headers.get("Location") ?? "another URL";
    throw new StorefrontFailure("redirect", `\`${base}\` redirects to ${target}; set \`url\` to the right address`);
  }
  if (!response.ok) throw toProblem(response, text, url, base);
  const body = tryParseJson(text);
  if (typeof body === "object" && body !== null) return { headers, body };
  throw new StorefrontFailure("unreadable", `the response is not JSON: ${text.slice(0, 80)}`);
}
