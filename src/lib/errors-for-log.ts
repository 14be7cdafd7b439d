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
  const code = systemCodeOf(error);
  const isDeep = depth === maxCauses;
  const errors = error instanceof AggregateError && !isDeep ? error.errors.slice(0, maxCauses) : [];
  return {
    type: error.name,
    message: error.message,
    ...(error.stack ? { stack: error.stack } : {}),
    ...(code === undefined ? {} : { code }),
    ...(error.cause === undefined || isDeep ? {} : { cause: toLogged(error.cause, depth + 1) }),
    ...(errors.length > 0 ? { errors: errors.map((one) => toLogged(one, depth + 1)) } : {}),
  };
}

/** The code of an error of the system or the runtime, such as `ENOENT`; undefined when there is none. */
export function systemCodeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** As `messageOf`, without the system call and the path at the end of a system error, for paths that mean nothing to the reader. */
export function reasonOf(error: unknown): string {
  const message = messageOf(error);
  return systemCodeOf(error) === undefined ? message : message.replace(/, [a-z]+(?: '.*')?$/s, "");
}
