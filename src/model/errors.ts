/** The codes of all refusals, with their titles. `/docs/problems/<code>` documents each. */
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

/** One fault of a record: the field (a dotted path such as `Address.Town`), and the fault. */
export interface Fault {
  readonly field: string;
  readonly detail: string;
  /** Position in a body that cannot be parsed, from 1. */
  readonly line?: number;
  readonly column?: number;
}

interface RefusalOptions {
  /** All faults of a rejected record. */
  readonly faults?: readonly Fault[];
  /** Seconds after which the client may try again. */
  readonly retryAfter?: number;
  /** Header fields of the response, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** The error of a refused request or command. Its message is shown to the client or operator. */
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

/** The refusal of a request for which this is the wrong moment, although the storage works. Nothing was changed. The client can try again. */
export class TryAgain extends Refusal {
  /** @param detail the reason, without what to do */
  constructor(detail: string) {
    super("unavailable", `${detail}; try again`, { retryAfter: 1 });
  }
}

/** Faults that are listed: more than any record has fields. */
const maxFaults = 100;

/** Whether there are more faults than are listed. Then the search for others can stop. */
export function exceedsMaxFaults(faults: readonly Fault[]): boolean {
  return faults.length > maxFaults;
}

/** The refusal of a record with its faults, at most 100. The message has the first one. */
export function invalidRecord(faults: readonly Fault[]): Refusal {
  const [first] = faults;
  const detail = first ? `${first.field === "" ? "" : `\`${first.field}\`: `}${first.detail}` : "not acceptable";
  return new Refusal("invalid-record", detail + more(faults), { faults: faults.slice(0, maxFaults) });
}

function more(faults: readonly Fault[]): string {
  if (exceedsMaxFaults(faults)) return ` (and more; the first ${maxFaults} are listed)`;
  return faults.length > 1 ? ` (and ${faults.length - 1} more)` : "";
}

/** The site got another history after the request arrived, as by `restore`. A read is begun again before the client gets this. */
export class OtherHistory extends TryAgain {
  constructor() {
    super("the website was restored or removed at this moment");
  }
}
