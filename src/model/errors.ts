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
const mostFaults = 100;

/** Whether `faults` has one more than are listed. Then there is no need to look for others. */
export function isFull(faults: readonly Fault[]): boolean {
  return faults.length > mostFaults;
}

/** The refusal of a record with its faults (at most 100 of them), the first in one line as well. */
export function invalidRecord(faults: readonly Fault[]): Refusal {
  const [first] = faults;
  const detail = first ? `${first.field === "" ? "" : `\`${first.field}\`: `}${first.detail}` : "not acceptable";
  return new Refusal("invalid-record", detail + more(faults), { faults: faults.slice(0, mostFaults) });
}

function more(faults: readonly Fault[]): string {
  if (isFull(faults)) return ` (and more; the first ${mostFaults} are listed)`;
  return faults.length > 1 ? ` (and ${faults.length - 1} more)` : "";
}

/** What a log tells of an error. */
interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly cause?: LoggedError;
  /** Of an error that stands for several. */
  readonly errors?: readonly LoggedError[];
}

/** Most causes that are told of an error, one behind the other or one beside the other. */
const mostCauses = 5;

/**
 * What a log tells of anything thrown, as plain data. Errors of the runtime itself (such as those of a module that could
 * not be loaded) have members that cannot be serialized.
 */
export function toLogged(error: unknown, depth = 1): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { code } = error as NodeJS.ErrnoException;
  const isDeep = depth === mostCauses;
  const errors = error instanceof AggregateError && !isDeep ? error.errors.slice(0, mostCauses) : [];
  return {
    type: error.name,
    message: error.message,
    ...(error.stack ? { stack: error.stack } : {}),
    ...(typeof code === "string" ? { code } : {}),
    ...(error.cause === undefined || isDeep ? {} : { cause: toLogged(error.cause, depth + 1) }),
    ...(errors.length > 0 ? { errors: errors.map((one) => toLogged(one, depth + 1)) } : {}),
  };
}

/** The text of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
