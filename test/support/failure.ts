// The error of work that must fail.

import type { ProblemError } from "../../src/model/errors.ts";

/** The error of `work`. @throws Error if it does not fail */
export async function failureOf(work: Promise<unknown>): Promise<ProblemError> {
  return work.then(
    () => {
      throw new Error("it did not fail");
    },
    (error) => error,
  );
}
