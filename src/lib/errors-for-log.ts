// Turns anything that was thrown into a message for a person, or into data for a log.

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly cause?: LoggedError;
  readonly errors?: readonly LoggedError[];
}

/** Maximum depth of nested errors, the outermost included, and maximum members of an AggregateError that are logged. */
const maxCauses = 5;

/**
 * Returns `error` as plain data, with its causes: at most five levels, `error` itself included. The log cannot take the error itself, because some
 * errors of the runtime (for example, of a module that could not be loaded) have members that cannot be serialized.
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

/** Returns the code of an error of the kernel or the runtime, such as `ENOENT`; undefined if the error has none. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the message without the system call and the path at its end, for errors of the kernel about paths that mean nothing to the reader. */
export function errorMessageWithoutPath(error: unknown): string {
  const message = errorMessage(error);
  return systemErrorCode(error) === undefined ? message : message.replace(/, [a-z]+(?: '.*')?$/s, "");
}
