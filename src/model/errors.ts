/** The titles of all problems, by error code. The page `/docs/problems/<code>` documents each problem. */
export const refusals = {
  "bad-request": "The request is malformed",
  "invalid-record": "The record is not acceptable",
  "ambiguous-id": "The record is not named, or named twice",
  unauthorized: "A valid API key is needed",
  forbidden: "The API key does not allow this",
  "site-suspended": "The website is suspended",
  "not-found": "There is nothing here",
  "method-not-allowed": "The method is not available here",
  "request-timeout": "The request did not arrive in time",
  conflict: "The same request is still running",
  gone: "These changes are no longer there",
  "precondition-failed": "The record has changed",
  "too-large": "The request body is too large",
  "head-too-large": "The header section is too large",
  "unsupported-media-type": "The encoding of the body is not supported",
  "wrong-site": "No website has this host",
  "idempotency-key-reused": "The idempotency key was used for another request",
  "too-many-requests": "Too many requests",
  "not-implemented": "The method does not exist",
  internal: "Something went wrong inside the server",
  unavailable: "The server cannot do this now",
} as const;

export type Code = keyof typeof refusals;

/** One error of a record. */
export interface Fault {
  /** A dotted path such as `Address.Town`; empty for the whole record. */
  readonly field: string;
  /** The message. */
  readonly detail: string;
  /** Position of the error in a body that cannot be parsed, from 1. */
  readonly line?: number;
  readonly column?: number;
}

interface RefusalOptions {
  /** All errors of a rejected record. */
  readonly faults?: readonly Fault[];
  /** Seconds after which the client can try again. */
  readonly retryAfter?: number;
  /** Header fields of the response, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** The error of a request or command. A request gets it as a problem document (RFC 9457). Its message is shown to the client or operator. */
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

/** The error of a request that cannot be done at this moment, although the database works. Nothing was changed. The client can repeat the request. */
export class TryAgain extends Refusal {
  /** @param detail the reason. The message then adds "try again" */
  constructor(detail: string) {
    super("unavailable", `${detail}; try again`, { retryAfter: 1 });
  }
}

/** Maximum field errors in a problem document. It is more than the fields of any record. */
const maxFaults = 100;

/** Whether there are more field errors than a problem document lists. The search for further errors can then stop. */
export function exceedsMaxFaults(faults: readonly Fault[]): boolean {
  return faults.length > maxFaults;
}

/** Returns the error of a rejected record, with at most 100 field errors. The message contains the first of them. */
export function invalidRecord(faults: readonly Fault[]): Refusal {
  const [first] = faults;
  const detail = first ? `${first.field === "" ? "" : `\`${first.field}\`: `}${first.detail}` : "not acceptable";
  return new Refusal("invalid-record", detail + more(faults), { faults: faults.slice(0, maxFaults) });
}

function more(faults: readonly Fault[]): string {
  if (exceedsMaxFaults(faults)) return ` (and more; the first ${maxFaults} are listed)`;
  return faults.length > 1 ? ` (and ${faults.length - 1} more)` : "";
}

/** The error if a site gets another epoch after the request arrived, as by a restore. The server repeats a read before it reports this error. */
export class OtherHistory extends TryAgain {
  constructor() {
    super("the website was restored or removed at this moment");
  }
}
