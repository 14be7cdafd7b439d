// Reads a request's JSON body and checks its members.

import { excessIn } from "../formats/json-items.ts";
import { ProblemError } from "../model/errors.ts";
import { isJsonObject } from "../model/field.ts";
import type { WireRequest } from "../wire/request.ts";

/** A body before it's checked: members of `T` may be missing or have any value. */
export type ReceivedBody<T> = { readonly [Name in keyof T]?: unknown };

/**
 * @param maxBytes if lower than the listener's limit
 * @throws ProblemError `bad-request` or `unsupported-media-type`, RequestError
 */
export async function readJsonObject<T>(request: WireRequest, maxBytes?: number): Promise<ReceivedBody<T>> {
  const value = await readJson(request, maxBytes);
  if (isJsonObject(value)) return value as ReceivedBody<T>;
  throw new ProblemError("bad-request", "the body must be a JSON object");
}

const maxDepth = 16;

/** Enough for 5,000 edits that change every field. */
const maxValues = 200_000;

async function readJson(request: WireRequest, maxBytes?: number): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  // A form on another origin's page can't send this media type without a preflight request, which we reject.
  if (type !== "application/json")
    throw new ProblemError("unsupported-media-type", "send the body as application/json");
  const { view } = await request.readBody(maxBytes);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(view);
    const excess = excessIn(text, { maxDepth, maxValues });
    if (excess !== undefined) throw new ProblemError("bad-request", `the body ${excess}`);
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw new ProblemError("bad-request", "the body isn't JSON", { cause: error });
  }
}

// Each function throws ProblemError `bad-request` for a wrong value. For a missing one, it throws or returns undefined.

export function parseText<T extends object>(input: T, name: keyof T & string): string {
  const value: unknown = input[name];
  if (typeof value === "string") return value;
  throw new ProblemError("bad-request", `\`${name}\` must be a string`);
}

export function parseOptionalText<T extends object>(input: T, name: keyof T & string): string | undefined {
  return input[name] === undefined ? undefined : parseText(input, name);
}

/** Per list. */
const maxTexts = 1000;

export function parseTexts<T extends object>(input: T, name: keyof T & string): readonly string[] | undefined {
  const value: unknown = input[name];
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.length <= maxTexts && value.every((item) => typeof item === "string")) return value;
  throw new ProblemError("bad-request", `\`${name}\` must be a list of at most ${maxTexts} strings`);
}

/** Without `max`, up to the largest safe integer. */
interface NumberRange {
  readonly min: number;
  readonly max?: number;
}

export function parseWholeNumber<T extends object>(input: T, name: keyof T & string, range: NumberRange): number {
  const { min, max } = range;
  const value = Number.isSafeInteger(input[name]) ? Number(input[name]) : Number.NaN;
  if (value >= min && value <= (max ?? Number.MAX_SAFE_INTEGER)) return value;
  const limits = max === undefined ? `from ${min}` : `from ${min} to ${max}`;
  throw new ProblemError("bad-request", `\`${name}\` must be a whole number ${limits}`);
}

export function parseOptionalWholeNumber<T extends object>(
  input: T,
  name: keyof T & string,
  range: NumberRange,
): number | undefined {
  return input[name] === undefined ? undefined : parseWholeNumber(input, name, range);
}

export function parseChoice<T extends object, Choice extends string>(
  input: T,
  name: keyof T & string,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === input[name]);
  if (found !== undefined) return found;
  throw new ProblemError("bad-request", `\`${name}\` must be one of ${choices.join(", ")}`);
}

export function parseBoolean<T extends object>(input: T, name: keyof T & string): boolean | undefined {
  const value: unknown = input[name];
  if (value === undefined || typeof value === "boolean") return value;
  throw new ProblemError("bad-request", `\`${name}\` must be true or false`);
}
