// What to print and to log of anything thrown.

/** A thrown value as a log records it: plain data. */
interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly cause?: LoggedError;
  /** The members of an AggregateError. */
  readonly errors?: readonly LoggedError[];
}

/** How deep causes are followed, and how many members of an AggregateError are logged. */
const maxCauses = 5;

/**
 * `error` as plain data, with at most 5 nested causes. Errors of the runtime itself (such as those of a module that could
 * not be loaded) have members that cannot be serialized.
 */
export function toLogged(error: unknown, depth = 1): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { code } = error as NodeJS.ErrnoException;
  const isDeep = depth === maxCauses;
  const errors = error instanceof AggregateError && !isDeep ? error.errors.slice(0, maxCauses) : [];
  return {
    type: error.name,
    message: error.message,
    ...(error.stack ? { stack: error.stack } : {}),
    ...(typeof code === "string" ? { code } : {}),
    ...(error.cause === undefined || isDeep ? {} : { cause: toLogged(error.cause, depth + 1) }),
    ...(errors.length > 0 ? { errors: errors.map((one) => toLogged(one, depth + 1)) } : {}),
  };
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
