import type { ProblemCode } from "./record-types.ts";

/** One field error of a rejected record: its field (a dotted path such as `Address.Town`) and a message. */
export interface FieldError {
  readonly field: string;
  readonly detail: string;
  /** The number of the operation in a batch request, or of the record in `upsert`, from 1. */
  readonly operation?: number;
  /** The position of the error if the body could not be parsed. Line and column count from 1. */
  readonly line?: number;
  readonly column?: number;
}

/**
 * Thrown if the server responds with a problem document (RFC 9457) or another error. The members `type`, `title`, `status`, `detail`, `instance` and
 * `errors` are those of the document.
 */
export class StorefrontProblem extends Error {
  override readonly name: string = "StorefrontProblem";
  /** The URL of the page about this kind of problem. */
  readonly type: string;
  /** The last segment of `type`. Undefined if the response came from an intermediary, such as a proxy. */
  readonly code: ProblemCode | undefined;
  /** The kind of problem in words. */
  readonly title: string;
  readonly status: number;
  /** The explanation in a sentence, the same as `message`. */
  readonly detail: string;
  /** The ID of the request in the server's log. */
  readonly instance: string | undefined;
  /** All field errors of a rejected record. Empty for other problems. */
  readonly errors: readonly FieldError[];
  /** `Retry-After` in milliseconds. */
  readonly retryAfter: number | undefined;
  /** The runs that `upsert` stored before it failed. */
  readonly runs: readonly string[] = [];

  constructor(response: Response, body: Partial<Record<string, unknown>>, base: string) {
    super(String(body.detail ?? `the server responded with status ${response.status}`));
    const type = String(body.type ?? "about:blank");
    const path = /^\/(docs\/problems\/(.+))$/.exec(type);
    this.status = response.status;
    this.code = path?.[2] as ProblemCode | undefined;
    this.title = String(body.title ?? response.statusText);
    this.type = path ? base + path[1] : type;
    this.detail = this.message;
    this.instance = String(body.instance ?? response.headers.get("X-Request-Id") ?? "") || undefined;
    this.errors = Array.isArray(body.errors) ? body.errors : [];
    this.retryAfter = toMilliseconds(response.headers.get("Retry-After"));
  }
}

/**
 * Thrown if the cursor can no longer be used: changes after it were pruned, or the changes of the site were replaced, for example because a
 * backup was restored. Start again: request the cursor of `now`, read the lists, then follow the changes. `mirror` does this automatically.
 */
export class StorefrontGone extends StorefrontProblem {
  override readonly name = "StorefrontGone";
}

/** Why a call got no usable response. */
export type FailureReason =
  /** The connection failed, or ended too early. */
  | "network"
  /** There was no complete response within `timeout`. */
  | "timeout"
  /** The call would wait for the rate limit of the key for longer than `maxRateLimitWait`. Its `cause` is the last problem, if any. */
  | "rate-limit"
  /** The URL redirects. The client does not follow redirects: that could send the API key to another host, or turn a POST into a GET. */
  | "redirect"
  /** The response did not come from this interface. */
  | "unreadable";

/** Thrown if a call gets no usable response. `cause` is the error of the platform, if any. */
export class StorefrontFailure extends Error {
  override readonly name = "StorefrontFailure";
  readonly reason: FailureReason;
  /** The runs that `upsert` stored before it failed. */
  readonly runs: readonly string[] = [];

  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/**
 * Creates the problem of an error response, also if its body is not a problem document.
 * @param url the URL of the request
 * @param base the URL of the site, ending in `/`
 */
export function toProblem(response: Response, text: string, url: string, base: string): StorefrontProblem {
  const body = tryParseJson(text);
  // Use the status instead of the code of the problem, because a proxy may have replaced the body.
  const isGone = response.status === 410 && url.startsWith(`${base}restapi/changes.json`);
  const Problem = isGone ? StorefrontGone : StorefrontProblem;
  return new Problem(response, typeof body === "object" && body !== null ? body : {}, base);
}

/** Parses a JSON text. Returns undefined if the text is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Converts a `Retry-After` field, a number of seconds or a date (RFC 9110 section 10.2.3), to milliseconds from now. */
export function toMilliseconds(header: string | null): number | undefined {
  if (header === null) return undefined;
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
