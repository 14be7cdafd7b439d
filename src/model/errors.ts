/** Every way in which the program says no. The page of each is served at `/docs/problems/<code>`. */
export const refusals = {
  "bad-request": "The request is malformed",
  "invalid-record": "The record is not acceptable",
  "ambiguous-id": "The record is not named, or named twice",
  unauthorized: "A valid API key is needed",
  forbidden: "The API key does not allow this",
  "not-found": "There is nothing here",
  "method-not-allowed": "The method is not available here",
  "request-timeout": "The request did not arrive in time",
  conflict: "The same request is still running",
  "precondition-failed": "The record has changed",
  "too-large": "The request body is too large",
  "head-too-large": "The header section is too large",
  "unsupported-media-type": "The encoding of the body is not supported",
  "wrong-site": "No website has this host",
  "idempotency-key-reused": "The idempotency key was used for another request",
  "too-many-requests": "Too many requests",
  "not-implemented": "The method does not exist",
  internal: "Something went wrong inside the server",
  unavailable: "The storage cannot be reached",
} as const;

export type Code = keyof typeof refusals;

/** One fault of a record: where (a dotted path such as `Address.Town`) and what. */
export interface Fault {
  readonly field: string;
  readonly detail: string;
  /** Where in the body, both counted from 1, when it cannot be parsed. */
  readonly line?: number;
  readonly column?: number;
}

interface RefusalOptions {
  /** Every fault of a rejected record. */
  readonly faults?: readonly Fault[];
  /** Seconds after which trying again makes sense. */
  readonly retryAfter?: number;
  /** Response headers that belong to the refusal, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** A request or command that is refused, for a reason that may be shown to whoever made it. */
export class Refusal extends Error {
  readonly code: Code;
  readonly faults: readonly Fault[];
  readonly retryAfter: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: Code, detail: string, options: RefusalOptions = {}) {
    super(detail, { cause: options.cause });
    this.name = "Refusal";
    this.code = code;
    this.faults = options.faults ?? [];
    this.retryAfter = options.retryAfter;
    this.headers = options.headers ?? {};
  }
}

/** How many faults are listed: more than any record has fields, and no more than anyone reads. */
const maxFaults = 100;

/** Whether `faults` has one more than are listed. Then there is no need to look for others. */
export function exceedsMaxFaults(faults: readonly Fault[]): boolean {
  return faults.length > maxFaults;
}

/** The refusal of a record with its faults (at most 100 of them), the first in one line as well. */
export function invalidRecord(faults: readonly Fault[]): Refusal {
  const [first] = faults;
  const detail = first ? `${first.field === "" ? "" : `\`${first.field}\`: `}${first.detail}` : "not acceptable";
  return new Refusal("invalid-record", detail + more(faults), { faults: faults.slice(0, maxFaults) });
}

function more(faults: readonly Fault[]): string {
  if (exceedsMaxFaults(faults)) return ` (and more; the first ${maxFaults} are listed)`;
  return faults.length > 1 ? ` (and ${faults.length - 1} more)` : "";
}
