import type { FieldErrorParameters, ProblemCode } from "./record-types.ts";

/**
 * One field error of a rejected record. Compare `code` to know its parameters; show `detail` for codes that you don't know.
 * @example if (error.code === "too-long") console.log(`${error.field}: at most ${error.max} characters`);
 */
export type FieldError = FieldErrorPlace & (KnownFieldError | UnknownFieldError);

type KnownFieldError =
  | {
      [Code in keyof FieldErrorParameters]: { readonly code: Code } & FieldErrorParameters[Code];
    }[keyof FieldErrorParameters]
  | { /** The problem of an operation that failed as a whole. */ readonly code: ProblemCode };

/**
 * An error of a newer server, with another code, or of an older one, without a code. Its code has no type here, because comparing `code` with a known
 * one couldn't narrow the type otherwise.
 */
interface UnknownFieldError {
  readonly code: undefined;
}

interface FieldErrorPlace {
  /** A dotted path such as `Address.Town`; empty for the whole record. */
  readonly field: string;
  /** What's wrong and what to do, for people. The wording can change. */
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
