import type { ProblemCode } from "./records.ts";

/** One fault of a rejected record: where (a dotted path such as `Address.Town`) and what. */
export interface Fault {
  readonly field: string;
  readonly detail: string;
  /** Where in the body, both counted from 1, when it could not be parsed. */
  readonly line?: number;
  readonly column?: number;
}

/** An answer that says no (RFC 9457). `message` is its detail. */
export class StorefrontProblem extends Error {
  override readonly name = "StorefrontProblem";
  readonly status: number;
  /** What kind of problem; undefined when something between here and the server answered. */
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

  constructor(response: Response, body: Partial<Record<string, unknown>>) {
    super(String(body.detail ?? `the server answered ${response.status}`));
    const type = String(body.type ?? "about:blank");
    this.status = response.status;
    this.code = type.startsWith("/docs/problems/") ? (type.slice(15) as ProblemCode) : undefined;
    this.title = String(body.title ?? response.statusText);
    this.type = new URL(type, response.url || "about:blank").href;
    this.requestId = response.headers.get("X-Request-Id") ?? undefined;
    this.faults = (body.errors as Fault[] | undefined) ?? [];
    this.retryAfter = toMilliseconds(response.headers.get("Retry-After"));
  }
}

/** The problem that a response tells, whatever its body is. */
export async function toProblem(response: Response): Promise<StorefrontProblem> {
  const body = await response.json().catch(() => undefined);
  return new StorefrontProblem(response, typeof body === "object" && body !== null ? body : {});
}

/** Seconds or a date (RFC 9110 section 10.2.3). */
function toMilliseconds(header: string | null): number | undefined {
  if (header === null) return undefined;
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
