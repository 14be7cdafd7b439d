// The values of query parameters.

import { Refusal } from "../../model/errors.ts";

/** The value of a parameter; undefined when there is none. @throws Refusal `bad-request` when it appears more than once */
export function single(parameters: URLSearchParams, name: string): string | undefined {
  const values = parameters.getAll(name);
  if (values.length > 1) throw new Refusal("bad-request", `\`${name}\` appears more than once`);
  return values[0];
}

/** The values of a parameter that may be separated by commas or repeated, as generated clients do. */
export function joined(parameters: URLSearchParams, name: string): string[] | undefined {
  const values = parameters.getAll(name);
  return values.length === 0 ? undefined : values.flatMap((value) => value.split(","));
}

/** @throws Refusal `bad-request` unless `value` is a whole number from `min` to `max`, in digits alone */
export function readNumber(name: string, value: string, min: number, max: number): number {
  const number = /^[0-9]{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `from ${min}`;
  throw new Refusal("bad-request", `\`${name}\` must be a whole number ${range}, not \`${value.slice(0, 40)}\``);
}

/** The number in a parameter of the query. @throws Refusal `bad-request` */
export function readWholeNumber(
  query: URLSearchParams,
  name: string,
  { min, max, byDefault }: { readonly min: number; readonly max: number; readonly byDefault: number },
): number {
  const text = query.get(name);
  if (text === null) return byDefault;
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new Refusal("bad-request", `\`${name}\` must be a whole number from ${min} to ${max}`);
}
