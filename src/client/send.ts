import { StorefrontProblem, toProblem } from "./problem.ts";

export interface ClientOptions {
  /** The website's address, such as `https://shop.example`. */
  readonly url: string;
  /** An API key of the website. */
  readonly key: string;
  /** Milliseconds that one attempt may take; 10 seconds unless said. */
  readonly timeout?: number;
  /** How often a request that failed is tried again; 3 times unless said. */
  readonly retries?: number;
  /** Milliseconds that a `Retry-After` may ask for; when it asks for more, the problem is thrown. One minute unless said. */
  readonly longestWait?: number;
  /** Takes the place of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

export interface CallOptions {
  /** Ends the call, and its further attempts. */
  readonly signal?: AbortSignal;
  /** Milliseconds that one attempt of this call may take. */
  readonly timeout?: number;
}

export interface Call extends CallOptions {
  /** Without a method, the call reads. */
  readonly method?: "POST" | "PUT" | "DELETE";
  /** Below `/restapi/`. */
  readonly path: string;
  readonly body?: unknown;
  /** The write is refused unless the record is still what this stands for. */
  readonly etag?: string | undefined;
}

export interface Answer {
  readonly headers: Headers;
  /** As parsed from JSON. */
  readonly body: unknown;
}

export type Send = (call: Call) => Promise<Answer>;

/** Statuses after which the same request may succeed. */
const passing = [409, 429, 502, 503, 504];

/**
 * A function that sends a call, and sends it again when no answer comes or the answer says to come again. That is safe
 * for writes too: each is a POST with an `Idempotency-Key`, so that the server does it once however often it comes.
 */
export function createSend(options: ClientOptions): Send {
  const { key, retries = 3, longestWait = 60_000, fetch = globalThis.fetch } = options;
  const base = new URL("/restapi/", options.url).href;
  return async (call) => {
    const { signal, timeout = options.timeout ?? 10_000 } = call;
    const init = toInit(call, key);
    for (let attempt = 0; ; attempt++) {
      try {
        const limit = AbortSignal.timeout(timeout);
        const either = signal ? AbortSignal.any([signal, limit]) : limit;
        return await toAnswer(await fetch(base + call.path, { ...init, signal: either }));
      } catch (error) {
        const wait = attempt < retries && !signal?.aborted ? waitAfter(error, attempt) : undefined;
        if (wait === undefined || wait > longestWait) throw error;
        await pause(wait, signal);
      }
    }
  };
}

function toInit({ method, body, etag }: Call, key: string): RequestInit {
  const headers: Record<string, string> = { "X-API-AUTH": key };
  if (!method) return { headers };
  headers["Content-Type"] = "application/json";
  headers["Idempotency-Key"] = crypto.randomUUID();
  if (method !== "POST") headers["X-HTTP-Method-Override"] = method;
  if (etag) headers["If-Match"] = etag;
  return { method: "POST", headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
}

async function toAnswer(response: Response): Promise<Answer> {
  if (!response.ok) throw await toProblem(response);
  const body = await response.json();
  if (typeof body !== "object" || body === null) throw new SyntaxError("the answer is not what was asked for");
  return { headers: response.headers, body };
}

/** Milliseconds to wait before the next attempt; undefined when it would fail again. */
function waitAfter(error: unknown, attempt: number): number | undefined {
  const backOff = 200 * 2 ** attempt * (0.5 + Math.random());
  if (!(error instanceof StorefrontProblem)) return backOff;
  return passing.includes(error.status) ? Math.max(backOff, error.retryAfter ?? 0) : undefined;
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
