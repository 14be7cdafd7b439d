import type { FieldErrorParameters, ProblemCode } from "./record-types.ts";

/**
 * One error in a rejected record. Check `code` to narrow its parameters; for codes you don't know, show `detail`.
 * @example if (error.code === "too-long") console.log(`${error.field}: at most ${error.max} characters`);
 */
export type FieldError = FieldErrorPlace & (KnownFieldError | UnknownFieldError);

type KnownFieldError =
  | {
      [Code in keyof FieldErrorParameters]: { readonly code: Code } & FieldErrorParameters[Code];
    }[keyof FieldErrorParameters]
  | { /** The problem of an operation that failed as a whole. */ readonly code: ProblemCode };

/**
 * An error from a server that's newer (with a code unknown here) or older (without one). `code` is typed undefined, because a `string` would keep
 * comparisons with known codes from narrowing the type.
 */
interface UnknownFieldError {
  readonly code: undefined;
}

interface FieldErrorPlace {
  /** A dotted path such as `Address.Town`. Empty if the error is about the whole record. */
  readonly field: string;
  /** What's wrong and how to fix it, for people to read. The wording may change. */
  readonly detail: string;
  /** The number of the operation in a batch request, or of the record in `upsert`, counted from 1. */
  readonly operation?: number;
  /** Where parsing failed, if the body couldn't be parsed. Lines and columns count from 1. */
  readonly line?: number;
  readonly column?: number;
}

/** What all errors of the client have in common, except for mistakes in your code, which are TypeErrors. */
export abstract class StorefrontError extends Error {}

/**
 * Thrown if the server responds with a problem document (RFC 9457) or any other error. `type`, `title`, `status`, `detail`, `instance`, `contact` and
 * `errors` are the document's members.
 */
export class StorefrontProblem extends StorefrontError {
  override readonly name: string = "StorefrontProblem";
  /** The URL of a page about this kind of problem. */
  readonly type: string;
  /** The last segment of `type`. Undefined if the response came from something in between, such as a proxy. */
  readonly code: ProblemCode | undefined;
  /** A short name for this kind of problem. */
  readonly title: string;
  readonly status: number;
  /** What went wrong, in a sentence. Same as `message`. */
  readonly detail: string;
  /** The request's ID in the server's log. */
  readonly instance: string | undefined;
  /** How to reach the operator: a `mailto:` or `https:` URL, if they've set one. Only for statuses 401, 403 and 5xx. */
  readonly contact: string | undefined;
  /** Every error found in a rejected record. Empty for other problems. */
  readonly errors: readonly FieldError[];
  /** The `Retry-After` header, in milliseconds from when the response arrived. */
  readonly retryAfter: number | undefined;
  /** The runs `upsert` or `sync` had stored before it failed. */
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
    this.contact = typeof body.contact === "string" ? body.contact : undefined;
    this.errors = Array.isArray(body.errors) ? body.errors : [];
    this.retryAfter = toMilliseconds(response.headers.get("Retry-After"));
  }
}

/**
 * Thrown if a cursor no longer works: either later changes have been pruned, or the site's changes were replaced, for example by restoring a backup.
 * To resync, get the current cursor (`now`), read the lists, then follow the changes from that cursor. `mirror` does this for you.
 */
export class StorefrontGone extends StorefrontProblem {
  override readonly name = "StorefrontGone";
}

/** Why a call failed without an error from the server. */
export type FailureReason =
  /** The connection failed, or closed too early. */
  | "network"
  /** No complete response arrived within `timeout`. */
  | "timeout"
  /**
   * The call would have to wait for the key's rate limit for longer than `maxRateLimitWait`. If an attempt was rejected before, that problem is the
   * `cause`.
   */
  | "rate-limit"
  /** The URL redirects. The client doesn't follow: that could send the API key to another host, or turn a POST into a GET. */
  | "redirect"
  /** The response isn't one this interface would send. */
  | "unreadable"
  /** `sync` would have to delete more records than it may, so it stored nothing. */
  | "too-many-removals";

/** Thrown if a call gets no usable response, or if `sync` refuses to continue. `cause` is the platform's error, if any. */
export class StorefrontFailure extends StorefrontError {
  override readonly name = "StorefrontFailure";
  readonly reason: FailureReason;
  /** The runs `upsert` or `sync` had stored before it failed. */
  readonly runs: readonly string[] = [];

  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/**
 * Converts an error response to a problem, even if its body isn't a problem document.
 * @param url the request's URL
 * @param base the site's URL, ending in `/`
 */
export function toProblem(response: Response, text: string, url: string, base: string): StorefrontProblem {
  const body = tryParseJson(text);
  // Go by the status, because a proxy may have replaced the body.
  const isGone = response.status === 410 && url.startsWith(`${base}restapi/changes.json`);
  const Problem = isGone ? StorefrontGone : StorefrontProblem;
  return new Problem(response, typeof body === "object" && body !== null ? body : {}, base);
}

/** Returns undefined if the text isn't JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Converts a `Retry-After` header, in seconds or as a date (RFC 9110 section 10.2.3), to milliseconds from now. */
export function toMilliseconds(header: string | null): number | undefined {
  if (header === null) return undefined;
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
