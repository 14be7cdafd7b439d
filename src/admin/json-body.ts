import { Refusal } from "../model/errors.ts";
import type { WireRequest } from "../wire/request.ts";

/** The body of a request, a JSON object. @throws Refusal `bad-request` or `unsupported-media-type`, RequestError */
export async function readJsonObject(request: WireRequest): Promise<object> {
  const value = await readJson(request);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new Refusal("bad-request", "the body must be a JSON object");
}

async function readJson(request: WireRequest): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  // A form of another site cannot send this type without a preflight, which this listener refuses.
  if (type !== "application/json") throw new Refusal("unsupported-media-type", "send the body as application/json");
  const bytes = await request.body();
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new Refusal("bad-request", "the body is not JSON", { cause: error });
  }
}

/** A member of a JSON object that must be a text. @throws Refusal `bad-request` */
export function readText(input: unknown, name: string): string {
  const value = (input as Record<string, unknown> | null)?.[name];
  if (typeof value === "string") return value;
  throw new Refusal("bad-request", `\`${name}\` must be a string`);
}
