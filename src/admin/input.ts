// Members of the JSON object that a request sends.

import { Refusal } from "../model/errors.ts";

/** Texts of a list at most. */
const maxTexts = 1000;

/** A list of texts; undefined when it is absent. @throws Refusal `bad-request` */
export function readTexts(input: unknown, name: string): readonly string[] | undefined {
  const value = Object(input)[name];
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.length <= maxTexts && value.every((item) => typeof item === "string")) return value;
  throw new Refusal("bad-request", `\`${name}\` must be a list of at most ${maxTexts} strings`);
}

/** True or false; undefined when it is absent. @throws Refusal `bad-request` */
export function readBoolean(input: unknown, name: string): boolean | undefined {
  const value = Object(input)[name];
  if (value === undefined || typeof value === "boolean") return value;
  throw new Refusal("bad-request", `\`${name}\` must be true or false`);
}
