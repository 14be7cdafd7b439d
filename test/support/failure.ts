// The error of work that must fail.

import { ProblemError } from "../../src/model/errors.ts";

/** Returns the code and the message of the ProblemError of `work`; undefined if it does not fail, and any other error itself. */
export function problemOf(work: Promise<unknown>) {
  return work.then(
    () => undefined,
    (error) => (error instanceof ProblemError ? [error.code, error.message] : error),
  );
}

/** The error of `work`. @throws Error if it does not fail */
export async function failureOf(work: Promise<unknown>): Promise<ProblemError> {
  return work.then(
    () => {
      throw new Error("it did not fail");
    },
    (error) => error,
  );
}
