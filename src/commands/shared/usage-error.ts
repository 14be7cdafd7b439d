import { ProblemError } from "../../model/errors.ts";

/** A bad option or argument. The process exits with status 2. */
export class UsageError extends Error {}

/** Turns a ProblemError `bad-request` from `work` into a UsageError, because it's about what was typed. */
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
