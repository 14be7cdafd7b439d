// The body of a request, a JSON object, and its members.

import { Refusal } from "../model/errors.ts";
import type { WireRequest } from "../wire/request.ts";

/**
 * The body of a request, a JSON object.
 * @param maxBytes if less than the listener reads of every body
 * @throws Refusal `bad-request` or `unsupported-media-type`, RequestError
 */
export async function readJsonObject(request: WireRequest, maxBytes?: number): Promise<object> {
  const value = await readJson(request, maxBytes);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new Refusal("bad-request", "the body must be a JSON object");
}

async function readJson(request: WireRequest, maxBytes?: number): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  // A form of another site cannot send this type without a preflight, which this listener refuses.
  if (type !== "application/json") throw new Refusal("unsupported-media-type", "send the body as application/json");
  const { view } = await request.body(maxBytes);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(view));
  } catch (error) {
    throw new Refusal("bad-request", "the body is not JSON", { cause: error });
  }
}

/** A member that must be a text. @throws Refusal `bad-request` */
export function readText(input: unknown, name: string): string {
  const value = Object(input)[name];
  if (typeof value === "string") return value;
  throw new Refusal("bad-request", `\`${name}\` must be a string`);
}

/** A text; undefined when it is absent. @throws Refusal `bad-request` */
export function readOptionalText(input: unknown, name: string): string | undefined {
  return Object(input)[name] === undefined ? undefined : readText(input, name);
}

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
