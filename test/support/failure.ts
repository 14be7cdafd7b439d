// Gets the error from work that should fail.

import { ProblemError } from "../../src/model/errors.ts";

/** Returns the ProblemError's code and message, any other error as it is, or undefined if `work` doesn't fail. */
export function problemOf(work: Promise<unknown>) {
  return work.then(
    () => undefined,
    (error) => (error instanceof ProblemError ? [error.code, error.message] : error),
  );
}

/** Returns the error. @throws Error if `work` doesn't fail */
export async function failureOf(work: Promise<unknown>): Promise<ProblemError> {
  return work.then(
    () => {
      throw new Error("it didn't fail");
    },
    (error) => error,
  );
}
