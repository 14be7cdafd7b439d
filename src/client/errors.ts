import type { ProblemCode } from "./records.ts";

/** One fault of a rejected record: where (a dotted path such as `Address.Town`) and what. */
export interface Fault {
  readonly field: string;
  readonly detail: string;
  /** Where in the body, both counted from 1, when it could not be parsed. */
  readonly line?: number;
  readonly column?: number;
}

/** A response that refuses the request (RFC 9457). `message` is its detail. */
export class StorefrontProblem extends Error {
  override readonly name = "StorefrontProblem";
  readonly status: number;
  /** What kind of problem; undefined when something between here and the server responded. */
  readonly code: ProblemCode | undefined;
  /** The kind of problem in words. */
  readonly title: string;
  /** The page about this kind of problem. */
  readonly type: string;
  /** Names the request in the server's log. */
  readonly requestId: string | undefined;
  /** Every fault of a rejected record; empty for other problems. */
  readonly faults: readonly Fault[];
  /** Milliseconds after which trying again makes sense. */
  readonly retryAfter: number | undefined;

  constructor(response: Response, body: Partial<Record<string, unknown>>, base: string) {
    super(String(body.detail ?? `the server responded with status ${response.status}`));
    const type = String(body.type ?? "about:blank");
    const path = /^\/(docs\/problems\/(.+))$/.exec(type);
    this.status = response.status;
    this.code = path?.[2] as ProblemCode | undefined;
    this.title = String(body.title ?? response.statusText);
    this.type = path ? base + path[1] : type;
    this.requestId = response.headers.get("X-Request-Id") ?? undefined;
    this.faults = Array.isArray(body.errors) ? (body.errors as Fault[]) : [];
    this.retryAfter = toMilliseconds(response.headers.get("Retry-After"));
  }
}

/** Why no response could be used. */
export type FailureReason =
  /** The connection failed, or ended too early. */
  | "network"
  /** No complete response within `timeout`. */
  | "timeout"
  /** The address redirects elsewhere. Redirects are not followed: they would give the API key to another address, and make a GET of a POST. */
  | "redirect"
  /** What responded does not speak this interface. */
  | "unreadable";

/** There was no response, or none that could be used. `cause` is what the platform threw, if it threw. */
export class StorefrontFailure extends Error {
  override readonly name = "StorefrontFailure";
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** The problem that a response tells, whatever its body is. @param base the website's address, ending in `/` */
export function toProblem(response: Response, text: string, base: string): StorefrontProblem {
  const body = parsed(text);
  return new StorefrontProblem(response, typeof body === "object" && body !== null ? body : {}, base);
}

/** What JSON text stands for; undefined when it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `Retry-After`: seconds or a date (RFC 9110 section 10.2.3). */
function toMilliseconds(header: string | null): number | undefined {
  if (header === null) return undefined;
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
