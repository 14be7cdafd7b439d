import { errorMessageWithoutPath } from "../lib/errors-for-log.ts";

/** The titles of all problems, by error code. The page `/docs/problems/<code>` documents each problem. */
export const problemTitles = {
  "bad-request": "The request is malformed",
  "invalid-record": "The record is not acceptable",
  "ambiguous-id": "The record is not named, or named in different ways",
  unauthorized: "A valid API key is needed",
  forbidden: "The API key does not allow this",
  "site-suspended": "The site is suspended",
  "not-found": "There is nothing here",
  "method-not-allowed": "The method is not available here",
  "request-timeout": "The request did not arrive in time",
  conflict: "The same request is still running",
  gone: "These changes are no longer there",
  "precondition-failed": "The record has changed",
  "too-large": "The request body is too large",
  "head-too-large": "The header section is too large",
  "unsupported-media-type": "The encoding of the body is not supported",
  "wrong-site": "No site has this host",
  "idempotency-key-reused": "The idempotency key cannot be used for this request",
  "too-many-requests": "Too many requests",
  "not-implemented": "The method does not exist",
  internal: "Something went wrong inside the server",
  unavailable: "The server cannot do this now",
} as const;

export type ErrorCode = keyof typeof problemTitles;

/** One error of a record. */
export interface FieldError {
  /** The number of the operation of a batch request that has the error, from 1. Absent if the request is not a batch request. */
  readonly operation?: number;
  /** A dotted path such as `Address.Town`; empty for the whole record. */
  readonly field: string;
  /** The message. */
  readonly detail: string;
  /** Position of the error in a body that cannot be parsed, from 1. */
  readonly line?: number;
  readonly column?: number;
}

interface ProblemOptions {
  /** All errors of a rejected record. */
  readonly fieldErrors?: readonly FieldError[];
  /** Seconds after which the client can try again. */
  readonly retryAfterSeconds?: number;
  /** Header fields of the response, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/**
 * The error of a request or command. A request gets it as a problem document (RFC 9457). Its message is shown to the client or operator.
 *
 * It has a stack trace only if the server has failed. A batch request or an import can have thousands of faults, and a garbage collection
 * writes the texts of their traces at its end: 5,000 took 30 ms of one tick.
 */
export class ProblemError extends Error {
  readonly code: ErrorCode;
  readonly fieldErrors: readonly FieldError[];
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, detail: string, options: ProblemOptions = {}) {
    const { stackTraceLimit } = Error;
    if (code !== "unavailable" && code !== "internal") Error.stackTraceLimit = 0;
    super(detail, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = "ProblemError";
    this.code = code;
    this.fieldErrors = options.fieldErrors ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? {};
  }
}

/** Returns the error of a database or file that cannot be used now. The client can try again after a second. */
export function unavailableError(detail: string, cause?: unknown): ProblemError {
  return new ProblemError("unavailable", detail, { retryAfterSeconds: 1, cause });
}

/** The error of a request that cannot be done at this moment, although the database works. Nothing was changed. The client can repeat the request. */
export class RetryableError extends ProblemError {
  /** @param detail the reason. The message then adds "try again" */
  constructor(detail: string) {
    super("unavailable", `${detail}; try again`, { retryAfterSeconds: 1 });
  }
}

/** Maximum field errors in a problem document. It is more than the fields of any record. */
export const maxFieldErrors = 100;

/** How many errors of one record are reported. */
export interface ErrorLimits {
  readonly maxErrors: number;
  /** Maximum errors with a hint, such as the name that was probably meant: finding one takes longer than checking a whole record. */
  readonly maxHints: number;
}

/** The limits for a single record. */
export const fullLimits: ErrorLimits = { maxErrors: maxFieldErrors, maxHints: 20 };

/** Only the first error, without a hint. */
export const firstErrorOnly: ErrorLimits = { maxErrors: 1, maxHints: 0 };

/** All errors of a record, without hints. */
export const noMoreHints: ErrorLimits = { maxErrors: maxFieldErrors, maxHints: 0 };

/** Errors of a request or file with many records after which less is reported about the others. */
const maxFullErrors = 1000;

/**
 * Limits the errors of a request or file with many records, so that wrong records don't cost more than right ones. The records share `budget` errors with
 * hints; `after` applies to those that come when these are used up.
 */
export class ErrorBudget {
  readonly #after: ErrorLimits;
  #left: number;

  constructor(after: ErrorLimits, budget = maxFullErrors) {
    this.#after = after;
    this.#left = budget;
  }

  /** The limits for the next record. */
  get limits(): ErrorLimits {
    return this.#left > 0 ? fullLimits : this.#after;
  }

  /** Counts errors of a record. */
  spend(errors: number): void {
    this.#left -= errors;
  }

  /** Returns what `check` of a record returns, or throws its error and counts the field errors in it. */
  run<T>(check: (limits: ErrorLimits) => T): T {
    try {
      return check(this.limits);
    } catch (error) {
      if (error instanceof ProblemError) this.spend(error.fieldErrors.length);
      throw error;
    }
  }
}

/** Whether there are more field errors than are reported. The search for further errors can then stop. */
export function hasTooManyFieldErrors(fieldErrors: readonly FieldError[], { maxErrors } = fullLimits): boolean {
  return fieldErrors.length > maxErrors;
}

/** Returns the error of a rejected record. The message contains the first field error. */
export function invalidRecordError(fieldErrors: readonly FieldError[], limits = fullLimits): ProblemError {
  const [first] = fieldErrors;
  const detail = first ? `${first.field === "" ? "" : `\`${first.field}\`: `}${first.detail}` : "not acceptable";
  return new ProblemError("invalid-record", detail + furtherErrors(fieldErrors, limits), {
    fieldErrors: fieldErrors.slice(0, limits.maxErrors),
  });
}

/** Returns the end of a message that contains the first of several field errors: how many more there are. */
export function furtherErrors(fieldErrors: readonly FieldError[], limits = fullLimits): string {
  const { maxErrors } = limits;
  if (hasTooManyFieldErrors(fieldErrors, limits))
    return maxErrors === 1 ? " (and more)" : ` (and more; the first ${maxErrors} are listed)`;
  return fieldErrors.length > 1 ? ` (and ${fieldErrors.length - 1} more)` : "";
}

/** The messages of `OutdatedError`, by its reason. */
const outdatedMessages = {
  epoch: "the site was restored or removed at this moment",
  key: "the API key or the site is being changed",
  match: "other writers have changed too many records at this moment",
};

/**
 * The error of a request whose authorization or view was outdated before the request was done: the site got another epoch, as by a restore, its
 * key or the site was changed, or its view is too old to find records by a value. Nothing was stored. The server repeats the request before it reports this error.
 */
export class OutdatedError extends RetryableError {
  readonly reason: keyof typeof outdatedMessages;

  constructor(reason: keyof typeof outdatedMessages) {
    super(outdatedMessages[reason]);
    this.reason = reason;
  }
}

/**
 * Returns the result of `access`, or a promise of it. An error of the file system becomes a ProblemError without the name of the file, which means
 * nothing to the client.
 * @param fault what failed, in words for the client
 * @throws ProblemError `unavailable`, or the ProblemError that `access` throws
 */
export function withFileErrors<T>(fault: string, access: () => T): T {
  const throwFileError = (error: unknown): never => {
    if (error instanceof ProblemError) throw error;
    throw new ProblemError("unavailable", `${fault}: ${errorMessageWithoutPath(error)}`, { cause: error });
  };
  try {
    const value = access();
    return value instanceof Promise ? (value.catch(throwFileError) as T) : value;
  } catch (error) {
    return throwFileError(error);
  }
}

/** Returns a function that runs an access to a temporary file as `withFileErrors` does. Its errors also say how to choose another folder. */
export function withTemporaryFileErrors(fault: string): <T>(access: () => T) => T {
  const faultWithHint = `${fault} (set TMPDIR for another folder)`;
  return (access) => withFileErrors(faultWithHint, access);
}
