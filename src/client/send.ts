import { type AttemptInfo, type ClientSettings, checkInteger, maxDelayMs } from "./options.ts";
import { parseRateLimit } from "./rate-limit.ts";
import type { RequestQueue } from "./request-queue.ts";
import { StorefrontFailure, StorefrontProblem, toProblem, tryParseJson } from "./storefront-errors.ts";
import { abortReason, pause, waitAfter, withTimeLimit } from "./wait.ts";

/** Options that every method accepts. */
export interface CallOptions {
  /** Aborts the call, including its retries. The call throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit for one attempt, in milliseconds. */
  readonly timeout?: number;
}

/** A request before it gets its URL and headers. */
export interface ClientRequest extends CallOptions {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** The path below `/restapi/`. */
  readonly path: string;
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** How long the server may hold the request (long poll), in milliseconds. This is added to the time limit. */
  readonly serverWaitMs?: number;
}

/** A successful response. */
export interface ParsedResponse {
  readonly headers: Headers;
  readonly body: object;
}

/** Sends a request. Returns undefined if nothing has changed since `ifNoneMatch`. */
export type Send = (request: ClientRequest) => Promise<ParsedResponse | undefined>;

interface PreparedRequest {
  readonly url: string;
  readonly init: RequestInit & { readonly method: string };
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Creates a function that sends requests and retries temporary failures. Retrying a write is safe, because the server executes each `Idempotency-Key`
 * only once.
 * @param queue the queue of all requests with the same key
 */
export function createSend(settings: ClientSettings, queue: RequestQueue): Send {
  return async (request) => {
    // Throws for mistakes in the request itself, which aren't retried.
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
        // The server rejected the request without doing anything, so this isn't a retry: the call goes back to the queue.
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
  // Throws if a value isn't allowed in a header.
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
  const limit = timeout === undefined ? settings.timeout : checkInteger("timeout", timeout, 1, maxDelayMs);
  return Math.min(limit + serverWaitMs, maxDelayMs);
}

/** Pages without TLS have no `crypto.randomUUID`, and React Native has no `crypto`. The key must be unique, but needn't be secret. */
export function randomKey(): string {
  const bytes = new Uint8Array(16);
  if (globalThis.crypto) crypto.getRandomValues(bytes);
  else for (const index of bytes.keys()) bytes[index] = Math.random() * 256;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param release called when the response begins, or when the attempt ends without one */
async function sendOnce(
  prepared: PreparedRequest,
  info: AttemptInfo,
  settings: ClientSettings,
  release: (response?: Response) => void,
): Promise<ParsedResponse | undefined> {
  const { url, init, timeout, signal } = prepared;
  // Browsers' `fetch` throws if it's called as a method of another object.
  const { fetch, onResponse } = settings;
  return withTimeLimit(timeout, signal, async (limited) => {
    const rethrow = (error: unknown): never => {
      throw toThrown(error, prepared, limited);
    };
    const response = await fetch(url, { ...init, signal: limited }).catch(rethrow);
    release(response);
    const expires = response.headers.get("X-Key-Expires");
    if (expires !== null) settings.onKeyExpiring(new Date(expires));
    onResponse?.({
      ...info,
      status: response.status,
      requestId: response.headers.get("X-Request-Id") ?? undefined,
      rateLimit: parseRateLimit(response.headers),
    });
    return toParsed(response, await response.text().catch(rethrow), url, settings.base);
  }).finally(release);
}

/** Converts an exception from `fetch` to the error that the call throws. */
function toThrown(error: unknown, { url, signal, timeout }: PreparedRequest, limited: AbortSignal): unknown {
  if (signal?.aborted) return abortReason(signal);
  if (limited.aborted) {
    return new StorefrontFailure("timeout", `no complete response from ${url} within ${timeout} ms`, { cause: error });
  }
  if (isMistake(error)) return error;
  return new StorefrontFailure("network", `no response from ${url}: ${describe(error)}`, { cause: error });
}

/** Node's `fetch` only says "fetch failed", and the reason is in its cause. That has just a code if several addresses failed. */
function describe(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return cause ? `${textOf(error)} (${textOf(cause)})` : textOf(error);
}

function textOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}

/** Matches browsers' messages for network failures. Other platforms set a cause or a code. */
const networkMessages = /fetch|network|load failed|connection|offline|terminated|error sending request/i;

/** Whether the error is a bug in your program, such as in your own `fetch`. Platforms throw a TypeError for network failures too. */
function isMistake(error: unknown): boolean {
  if (!(error instanceof TypeError)) return error instanceof ReferenceError || error instanceof RangeError;
  return error.cause === undefined && !("code" in error) && !networkMessages.test(error.message);
}

function toParsed(response: Response, text: string, url: string, base: string): ParsedResponse | undefined {
  const { status, headers, type } = response;
  if (status === 304) return undefined;
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
    const target = headers.get("Location") ?? "another URL";
    throw new StorefrontFailure("redirect", `\`${base}\` redirects to ${target}; set \`url\` to the final address`);
  }
  if (!response.ok) throw toProblem(response, text, url, base);
  const body = tryParseJson(text);
  if (typeof body === "object" && body !== null) return { headers, body };
  throw new StorefrontFailure("unreadable", `the response isn't JSON: ${text.slice(0, 80)}`);
}
