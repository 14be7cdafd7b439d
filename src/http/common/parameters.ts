// Reads query parameters and `Idempotency-Key`, on both listeners. All their errors are `bad-request`.

import { ProblemError } from "../../model/errors.ts";
import type { WireRequest } from "../../wire/request.ts";

/** @throws ProblemError `bad-request` if the parameter appears more than once */
export function parseSingle(parameters: URLSearchParams, name: string): string | undefined {
  const values = parameters.getAll(name);
  if (values.length > 1) throw new ProblemError("bad-request", `\`${name}\` appears more than once`);
  return values[0];
}

/** Reads a parameter that may be repeated or have several values separated by commas; undefined if it's absent. */
export function splitValues(parameters: URLSearchParams, name: string): string[] | undefined {
  const values = parameters.getAll(name);
  return values.length === 0 ? undefined : values.flatMap((value) => value.split(","));
}

/** Whether a parameter is `1`; `byDefault` if it's absent. @throws ProblemError `bad-request` unless it's `0` or `1` */
export function parseSwitch(parameters: URLSearchParams, name: string, byDefault: boolean): boolean {
  const value = parseSingle(parameters, name);
  if (value === undefined) return byDefault;
  if (value === "0" || value === "1") return value === "1";
  throw new ProblemError("bad-request", `\`${name}\` must be 0 or 1, not \`${value.slice(0, 40)}\``);
}

/**
 * Returns `byDefault` if the parameter is absent.
 * @throws ProblemError `bad-request` if it appears more than once, or isn't a whole number from `min` to `max` in plain digits
 */
export function parseNumber<Default extends number | undefined>(
  parameters: URLSearchParams,
  name: string,
  { min, max, byDefault }: { readonly min: number; readonly max?: number; readonly byDefault: Default },
): number | Default {
  const value = parseSingle(parameters, name);
  if (value === undefined) return byDefault;
  const number = /^[0-9]{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= (max ?? Number.MAX_SAFE_INTEGER)) return number;
  const range = max === undefined ? `from ${min}` : `from ${min} to ${max}`;
  throw new ProblemError("bad-request", `\`${name}\` must be a whole number ${range}, not \`${value.slice(0, 40)}\``);
}

/**
 * Returns undefined if there's no `Idempotency-Key`.
 * @throws ProblemError `bad-request` unless it's 1 to 255 printable ASCII characters; RequestError if there are two
 */
export function parseIdempotencyName({ request }: { readonly request: WireRequest }): string | undefined {
  const name = request.headers.single("Idempotency-Key");
  if (name === null) return undefined;
  if (/^[\x20-\x7e]{1,255}$/.test(name)) return name;
  throw new ProblemError("bad-request", "the Idempotency-Key must be 1 to 255 printable ASCII characters");
}

export function idempotencyKeyReusedError(): ProblemError {
  return new ProblemError(
    "idempotency-key-reused",
    "this Idempotency-Key was used for a different request; use a new one for each request",
  );
}
