// The error for wrong options and arguments.

import { ProblemError } from "../../model/errors.ts";

/** Thrown for a wrong option or argument. The process then exits with status 2. */
export class UsageError extends Error {}

/** Runs `work`. Converts a ProblemError `bad-request` to a UsageError, because the operator's input caused it. */
export function asUsageError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toUsageError(error);
  }
}

export function toUsageError(error: unknown): unknown {
  return error instanceof ProblemError && error.code === "bad-request" ? new UsageError(error.message) : error;
}
