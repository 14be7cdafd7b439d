/** Every way in which the program says no. The page of each is served at `/docs/problems/<code>`. */
export const refusals = {
  "bad-request": "The request is malformed",
  "invalid-record": "The record is not acceptable",
  "ambiguous-id": "The record is not named, or named twice",
  unauthorized: "A valid API key is needed",
  forbidden: "The API key does not allow this",
  "not-found": "There is nothing here",
  "method-not-allowed": "The method is not available here",
  conflict: "The same request is still being answered",
  "precondition-failed": "The record has changed since",
  "too-large": "The request body is too large",
  "head-too-large": "The head of the request is too large",
  "unsupported-media-type": "The encoding of the body is not supported",
  "wrong-site": "No website answers under this host",
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
}

export interface RefusalOptions {
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

/** How many faults are told: more than any record has fields, and no more than fit an answer. */
const mostFaults = 1000;

/** The refusal of a record with all of its faults, told in one line as well. */
export function invalidRecord(faults: readonly Fault[]): Refusal {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : "";
  return new Refusal("invalid-record", `${first ? `\`${first.field}\`: ${first.detail}` : "not acceptable"}${more}`, {
    faults: faults.slice(0, mostFaults),
  });
}

/** The text of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
