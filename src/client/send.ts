import { parsed, StorefrontFailure, StorefrontProblem, toProblem } from "./errors.ts";
import { type AttemptInfo, inRange, type RateLimit, type Settings } from "./options.ts";
import { pause, waitAfter } from "./wait.ts";

export interface CallOptions {
  /** Ends the call, and its further attempts; the call then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that one attempt of this call may take. */
  readonly timeout?: number;
}

interface Call extends CallOptions {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `/restapi/`. */
  readonly path: string;
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface Content {
  readonly headers: Headers;
  /** As parsed from JSON. */
  readonly body: object;
}

/** Sends a call; undefined when nothing has changed since `ifNoneMatch`. */
export type Send = (call: Call) => Promise<Content | undefined>;

interface Prepared {
  readonly url: string;
  readonly init: RequestInit & { readonly method: string };
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * A function that sends a call, and sends it again when no response comes or the response says to come again. That is safe for
 * writes too: each carries an `Idempotency-Key`, so that the server does it once however often it comes.
 */
export function createSend(settings: Settings): Send {
  return async (call) => {
    // Whatever is wrong with the call itself is thrown here, and not tried again.
    const prepared = prepare(call, settings);
    for (let attempt = 1; ; attempt++) {
      const info = { method: prepared.init.method, url: prepared.url, attempt };
      try {
        return await sendOnce(prepared, info, settings);
      } catch (error) {
        const isOurs = error instanceof StorefrontProblem || error instanceof StorefrontFailure;
        if (!isOurs || prepared.signal?.aborted) throw error;
        const wait = attempt > settings.retries ? undefined : waitAfter(error, attempt, settings.longestWait);
        if (wait === undefined) throw error;
        settings.onRetry?.({ ...info, error, wait });
        await pause(wait, prepared.signal);
      }
    }
  };
}

function prepare(call: Call, settings: Settings): Prepared {
  const { method, body, signal } = call;
  const isOverridden = settings.methodOverride && (method === "PUT" || method === "DELETE");
  const headers = Object.entries({
    "X-API-AUTH": settings.key,
    "Content-Type": body === undefined ? undefined : "application/json",
    "If-Match": call.ifMatch,
    "If-None-Match": call.ifNoneMatch,
    "Idempotency-Key": method === "GET" ? undefined : (call.idempotencyKey ?? randomName()),
    "X-HTTP-Method-Override": isOverridden ? method : undefined,
  }).filter((header): header is [string, string] => header[1] !== undefined);
  // Throws for what no header can carry.
  new Headers(headers);
  return {
    url: `${settings.base}restapi/${call.path}`,
    init: {
      method: isOverridden ? "POST" : method,
      headers: Object.fromEntries(headers),
      redirect: "manual",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    },
    timeout: call.timeout === undefined ? settings.timeout : inRange("timeout", call.timeout, 1, 2 ** 31 - 1),
    signal,
  };
}

/** `crypto.randomUUID` is missing on pages that came without TLS. */
function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function sendOnce(prepared: Prepared, info: AttemptInfo, settings: Settings): Promise<Content | undefined> {
  const { url, init, timeout, signal } = prepared;
  // Not called as a method: browsers refuse a `fetch` whose `this` is another object.
  const { fetch, onResponse } = settings;
  const limit = AbortSignal.timeout(timeout);
  const either = signal ? AbortSignal.any([signal, limit]) : limit;
  const explain = (error: unknown): never => {
    throw explained(error, signal, limit);
  };
  const response = await fetch(url, { ...init, signal: either }).catch(explain);
  onResponse?.({
    ...info,
    status: response.status,
    requestId: response.headers.get("X-Request-Id") ?? undefined,
    rateLimit: toRateLimit(response.headers.get("RateLimit")),
  });
  return toContent(response, await response.text().catch(explain), settings.base);
}

/** What to throw when the platform threw `error` instead of giving a response. */
function explained(error: unknown, signal: AbortSignal | undefined, limit: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if (limit.aborted) return new StorefrontFailure("timeout", "no complete response came in time", { cause: error });
  if (isMistake(error)) return error;
  const message = `no response came: ${error instanceof Error ? error.message : error}`;
  return new StorefrontFailure("network", message, { cause: error });
}

/** How browsers report that the network failed; other platforms give a cause or a code. */
const networkMessages = /fetch|network|load failed|connection|offline|terminated|error sending request/i;

/** Whether it is a mistake in a program, such as a `fetch` of the caller's own. Platforms throw TypeErrors for network failures, too. */
function isMistake(error: unknown): boolean {
  if (!(error instanceof TypeError)) return error instanceof ReferenceError || error instanceof RangeError;
  return error.cause === undefined && !("code" in error) && !networkMessages.test(error.message);
}

function toContent(response: Response, text: string, base: string): Content | undefined {
  const { status, headers, type } = response;
  if (status === 304) return undefined;
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
    const target = headers.get("Location") ?? "another address";
    throw new StorefrontFailure(
      "redirect",
      `\`${base}\` redirects to ${target}: is that the address to use as \`url\`?`,
    );
  }
  if (!response.ok) throw toProblem(response, text, base);
  const body = parsed(text);
  if (typeof body === "object" && body !== null) return { headers, body };
  throw new StorefrontFailure("unreadable", `the response is not JSON: ${text.slice(0, 80)}`);
}

/** The `RateLimit` header: `"key";r=99;t=1`. */
function toRateLimit(header: string | null): RateLimit | undefined {
  const [, remaining, seconds] = /;r=(\d+);t=(\d+)/.exec(header ?? "") ?? [];
  return seconds === undefined ? undefined : { remaining: Number(remaining), reset: Number(seconds) * 1000 };
}
