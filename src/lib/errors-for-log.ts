// Turns anything thrown into a message for people or data for a log.

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly cause?: LoggedError;
  readonly errors?: readonly LoggedError[];
}

/** How deep nested errors are logged, counting the outermost, and how many of an AggregateError's members. */
const maxCauses = 5;

/**
 * Returns `error` and its causes as plain data, at most five levels in all. We can't log the error itself, because some runtime errors, such as a failed
 * module load, have members that can't be serialized.
 */
export function toLoggedError(error: unknown, depth = 1): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const code = systemErrorCode(error);
  const isDeep = depth === maxCauses;
  const errors = error instanceof AggregateError && !isDeep ? error.errors.slice(0, maxCauses) : [];
  return {
    type: error.name,
    message: error.message,
    ...(error.stack ? { stack: error.stack } : {}),
    ...(code === undefined ? {} : { code }),
    ...(error.cause === undefined || isDeep ? {} : { cause: toLoggedError(error.cause, depth + 1) }),
    ...(errors.length > 0 ? { errors: errors.map((one) => toLoggedError(one, depth + 1)) } : {}),
  };
}

/** Returns the code of a kernel or runtime error, such as `ENOENT`; undefined if it has none. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Drops the system call and path that kernel errors end with, for paths that mean nothing to the reader. */
export function errorMessageWithoutPath(error: unknown): string {
  const message = errorMessage(error);
  return systemErrorCode(error) === undefined ? message : message.replace(/, [a-z]+(?: '.*')?$/s, "");
}
