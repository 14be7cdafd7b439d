import { errorMessageWithoutPath } from "../lib/errors-for-log.ts";

/** Problem titles by error code. Each problem is documented at `/docs/problems/<code>`. */
export const problemTitles = {
  "bad-request": "The request is malformed",
  "invalid-record": "The record is invalid",
  "ambiguous-id": "Missing or conflicting record ID",
  unauthorized: "A valid API key is required",
  forbidden: "The API key doesn't allow this",
  "site-suspended": "The site is suspended",
  "not-found": "Not found",
  "method-not-allowed": "This path doesn't support the method",
  "request-timeout": "The request did not arrive in time",
  conflict: "The same request is still running",
  gone: "These changes are no longer available",
  "precondition-failed": "The record has changed",
  "too-large": "The request body is too large",
  "head-too-large": "The header section is too large",
  "unsupported-media-type": "The body's encoding isn't supported",
  "wrong-site": "No site has this host",
  "idempotency-key-reused": "The idempotency key can't be used for this request",
  "too-many-requests": "Too many requests",
  "not-implemented": "Unknown method",
  internal: "Something went wrong on the server",
  unavailable: "The server can't do this right now",
} as const;

export type ErrorCode = keyof typeof problemTitles;

/** What a field error tells programs besides its code. Nothing from the request, because values aren't redacted and an import keeps thousands of errors. */
export interface FaultParameters {
  readonly min: number;
  readonly max: number;
  readonly expected: keyof typeof expectedTypes;
  readonly choices: readonly string[];
  readonly pattern: string;
  readonly count: number;
  /** What was probably meant, if that's certain. */
  readonly suggestion?: string;
}

export const faultParameters = [
  "min",
  "max",
  "expected",
  "choices",
  "pattern",
  "count",
  "suggestion",
] as const satisfies (keyof FaultParameters)[];

const expectedTypes = { string: "a string", object: "an object", array: "an array", boolean: "true or false" };

/**
 * The codes of field errors, each with what to do, in words that can follow the field's name, and the parameters that clients get with it. The text is
 * empty where only the code that reports the error knows what to do. Clients depend on codes and parameters, so add new ones but never change any.
 */
export const faultCodes = {
  required: declareFault(() => "a value is required"),
  "unknown-field": declareFault(() => "unknown field"),
  "duplicate-field": declareFault(() => "send it only once"),
  "read-only": declareFault(() => "leave it out"),
  "wrong-type": declareFault(({ expected }) => `send ${expectedTypes[expected]}`, "expected"),
  "too-long": declareFault(({ max }) => `use ${max} characters or fewer`, "max"),
  "too-many": declareFault(({ max }) => `send at most ${max}`, "max"),
  "out-of-range": declareFault(({ min, max }) => `use a whole number from ${min} to ${max}`, "min", "max"),
  "invalid-id": declareFault(() => "use a whole number, 1 or more"),
  "invalid-choice": declareFault(({ choices }) => `use ${alternatives(choices)}`, "choices"),
  "invalid-country": declareFault(
    ({ suggestion = "GB" }) => `use a country code of 2 or 3 letters, such as ${suggestion}`,
    "suggestion",
  ),
  "invalid-email": declareFault(() => "use an e-mail address, such as ada@shop.example"),
  "invalid-time": declareFault(() => "use a time such as 2026-01-31T12:00:00.000Z"),
  "invalid-hostname": declareFault(() => "invalid hostname"),
  "invalid-character": declareFault(() => "remove"),
  "bad-pattern": declareFault(() => "", "pattern"),
  "stray-text": declareFault(() => "remove the text"),
  syntax: declareFault(() => ""),
  "several-matches": declareFault(({ count }) => `${count} records have this value`, "count"),
  "duplicate-value": declareFault(() => ""),
  taken: declareFault(() => ""),
  invalid: declareFault(() => ""),
};

function declareFault<Name extends keyof FaultParameters = never>(
  text: (parameters: Pick<FaultParameters, Name>) => string,
  ...parameters: readonly Name[]
) {
  return { text, parameters };
}

export type FaultCode = keyof typeof faultCodes;
type ParametersOf<Code extends FaultCode> = Parameters<(typeof faultCodes)[Code]["text"]>[0];

/** What's wrong with a field: a code and its parameters for programs, and a text for people. */
export interface Fault extends Partial<FaultParameters> {
  /** If an operation of a batch request fails as a whole, the problem's code. */
  readonly code: FaultCode | ErrorCode;
  readonly detail: string;
}

/** One error in a record. */
export interface FieldError extends Fault {
  /** In a batch request, the number of the operation, from 1. */
  readonly operation?: number;
  /** A dotted path such as `Address.Town`; empty for the whole record. */
  readonly field: string;
  /** Where the error is in a body that can't be parsed, from 1. */
  readonly line?: number;
  readonly column?: number;
}

/** @param hint follows the code's text: what was sent, for example, and how to correct it */
export function fault<Code extends FaultCode>(
  code: Code,
  hint = "",
  ...[parameters]: object extends ParametersOf<Code> ? [parameters?: ParametersOf<Code>] : [ParametersOf<Code>]
): Fault {
  const text = faultCodes[code].text as (parameters: unknown) => string;
  return { code, ...parameters, detail: text(parameters ?? {}) + hint };
}

/** Joins words: `POST, PUT or DELETE`. */
export function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

interface ProblemOptions {
  readonly fieldErrors?: readonly FieldError[];
  /** How long the client should wait before it tries again. */
  readonly retryAfterSeconds?: number;
  /** Header fields for the response, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/**
 * An error in a request or command. Clients get it as a problem document (RFC 9457), and the message is what the client or operator sees.
 *
 * Only server failures get a stack trace. A batch or an import can have thousands of errors, and when a garbage collection ends, it writes out the
 * text of all their traces: 5,000 took 30 ms of one tick.
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

/** For a database or file that can't be used right now. The client can retry after a second. */
export function unavailableError(detail: string, cause?: unknown): ProblemError {
  return new ProblemError("unavailable", detail, { retryAfterSeconds: 1, cause });
}

/** For a request that can't be done right now although the database works. Nothing was changed, so the client can repeat it. */
export class RetryableError extends ProblemError {
  /** @param detail the reason, to which "; try again" is added */
  constructor(detail: string) {
    super("unavailable", `${detail}; try again`, { retryAfterSeconds: 1 });
  }
}

/** Maximum field errors in a problem document. More than any record has fields. */
export const maxFieldErrors = 100;

/** How much to report about one record. */
export interface ErrorLimits {
  readonly maxErrors: number;
  /** Maximum errors with a hint, such as the name that was probably meant. Finding one takes longer than checking a whole record. */
  readonly maxHints: number;
}

/** Limits for a single record. */
export const fullLimits: ErrorLimits = { maxErrors: maxFieldErrors, maxHints: 20 };

export const firstErrorOnly: ErrorLimits = { maxErrors: 1, maxHints: 0 };

export const noMoreHints: ErrorLimits = { maxErrors: maxFieldErrors, maxHints: 0 };

/** After this many errors in a request or file with many records, less is reported about the rest. */
const maxFullErrors = 1000;

/**
 * Limits the errors of a request or file with many records, so that invalid records don't cost more than valid ones. The records share `budget`
 * errors with hints; once those are used up, `after` applies.
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

  spend(errors: number): void {
    this.#left -= errors;
  }

  /** Runs `check`, and if it throws, counts the field errors. */
  run<T>(check: (limits: ErrorLimits) => T): T {
    try {
      return check(this.limits);
    } catch (error) {
      if (error instanceof ProblemError) this.spend(error.fieldErrors.length);
      throw error;
    }
  }
}

/** Whether there are more errors than will be reported. If so, the caller can stop looking. */
export function hasTooManyFieldErrors(fieldErrors: readonly FieldError[], { maxErrors } = fullLimits): boolean {
  return fieldErrors.length > maxErrors;
}

/** The error for a rejected record. The message has the first field error. */
export function invalidRecordError(fieldErrors: readonly FieldError[], limits = fullLimits): ProblemError {
  const [first] = fieldErrors;
  const detail = first ? `${first.field === "" ? "" : `\`${first.field}\`: `}${first.detail}` : "invalid";
  return new ProblemError("invalid-record", detail + furtherErrors(fieldErrors, limits), {
    fieldErrors: fieldErrors.slice(0, limits.maxErrors),
  });
}

/** Returns what follows the first field error in a message: how many more there are. */
export function furtherErrors(fieldErrors: readonly FieldError[], limits = fullLimits): string {
  const { maxErrors } = limits;
  if (hasTooManyFieldErrors(fieldErrors, limits))
    return maxErrors === 1 ? " (and more)" : ` (and more; the first ${maxErrors} are listed)`;
  return fieldErrors.length > 1 ? ` (and ${fieldErrors.length - 1} more)` : "";
}

const outdatedMessages = {
  epoch: "the site was restored or removed at this moment",
  key: "the API key or the site is being changed",
  match: "other writers have changed too many records at this moment",
};

/**
 * What a request relied on became outdated before it was done: its site has a new epoch, as after a restore; its key or site was changed; or its view
 * is too old to find records by value. Nothing was stored, and the server has already repeated the request before it reports this.
 */
export class OutdatedError extends RetryableError {
  readonly reason: keyof typeof outdatedMessages;

  constructor(reason: keyof typeof outdatedMessages) {
    super(outdatedMessages[reason]);
    this.reason = reason;
  }
}

/**
 * Turns file system errors in `access` into ProblemErrors without the file's name, which would mean nothing to the client. Works with promises too.
 * @param fault what failed, in words for the client
 * @throws ProblemError `unavailable`, or the ProblemError thrown by `access`
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

/** Returns a function that does what `withFileErrors` does for a temporary file, and says how to choose another folder. */
export function withTemporaryFileErrors(fault: string): <T>(access: () => T) => T {
  const faultWithHint = `${fault} (set TMPDIR for another folder)`;
  return (access) => withFileErrors(faultWithHint, access);
}
