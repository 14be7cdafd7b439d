import { Refusal } from "../model/errors.ts";

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
