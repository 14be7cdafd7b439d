import type { Fault } from "../model/errors.ts";

/** An answer that says no (RFC 9457). */
export interface Problem {
  /** The page of the documentation about this kind of problem. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The request's id, as in `X-Request-Id`. */
  readonly instance: string;
  readonly errors?: readonly Fault[];
}
