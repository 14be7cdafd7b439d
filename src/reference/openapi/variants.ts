// The variants of the OpenAPI document: OpenAPI 3.1 or 3.0, with the operations of all formats or of one, in JSON or YAML.
//
// The path selects JSON or YAML, and two parameters of the query select the rest. Each variant is a file of its own, with its own ETag.

import { formats } from "../../formats/format.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { type Steps, slices } from "../../lib/slices.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import type { Schema } from "../json-schema.ts";
import { toOpenapi } from "./document.ts";
import { documentInFormat, type OpenapiDocument } from "./document-reader.ts";
import { toOpenapi30 } from "./openapi-30.ts";

/** The parameters that select a variant, and their values. */
const parameters = {
  format: formats.map(({ name }) => name),
  /** The version of OpenAPI. */
  openapi: ["3.0", "3.1"],
} as const;

/** The version of OpenAPI without the parameter. */
const defaultOpenapi = "3.1";

/** The path of an OpenAPI document, and how its text is made. */
const kinds = [
  ["/openapi.json", "application/json; charset=utf-8", (document: Schema) => `${JSON.stringify(document, null, 2)}\n`],
  ["/openapi.yaml", "application/yaml; charset=utf-8", (document: Schema) => Bun.YAML.stringify(document, null, 2)],
] as const;

interface OpenapiFile {
  /** `Content-Type`. */
  readonly type: string;
  readonly make: () => MaybePromise<string>;
}

/** Returns the document in all variants, by their keys. */
export function openapiFiles(served: readonly Resource[]): [key: string, OpenapiFile][] {
  return kinds.flatMap(([path, type, write]) =>
    parameters.openapi.flatMap((openapi) =>
      [undefined, ...parameters.format].map((format): [string, OpenapiFile] => [
        keyOf(path, openapi, format),
        { type, make: () => slices.runOthers(textOf(served, openapi, format, write)) },
      ]),
    ),
  );
}

/**
 * Returns the key of the variant that a request selects.
 * @param path the path of an OpenAPI document
 * @throws ProblemError `bad-request` if a parameter has a value that it cannot have
 */
export function openapiKey(path: string, query: string): string {
  const sent = new URLSearchParams(query);
  return keyOf(path, chosenValue(sent, "openapi") ?? defaultOpenapi, chosenValue(sent, "format"));
}

/** Whether the path is that of an OpenAPI document. */
export function isOpenapiPath(path: string): boolean {
  return kinds.some(([one]) => one === path);
}

/** Returns the path, with the parameters that are not the default. */
function keyOf(path: string, openapi: string, format: string | undefined): string {
  const query = new URLSearchParams({
    ...(format === undefined ? {} : { format }),
    ...(openapi === defaultOpenapi ? {} : { openapi }),
  });
  return query.size > 0 ? `${path}?${query}` : path;
}

function chosenValue(sent: URLSearchParams, name: keyof typeof parameters): string | undefined {
  const [value, second] = sent.getAll(name);
  const allowed: readonly string[] = parameters[name];
  if (second !== undefined) throw new ProblemError("bad-request", `\`${name}\` appears more than once; write one`);
  if (value === undefined || allowed.includes(value)) return value;
  const choices = allowed.map((one) => `\`${one}\``).join(" or ");
  throw new ProblemError("bad-request", `\`${name}\` must be ${choices}, not \`${value.slice(0, 40)}\``);
}

/** @param format the format whose operations the document contains; by default all formats */
function* textOf(
  served: readonly Resource[],
  openapi: string,
  format: string | undefined,
  write: (document: Schema) => string,
): Steps<string> {
  const whole = (yield* toOpenapi(served)) as OpenapiDocument;
  yield;
  const chosen = format === undefined ? whole : documentInFormat(whole, format);
  yield;
  const written = openapi === "3.0" ? yield* toOpenapi30(chosen) : chosen;
  yield;
  return write(written);
}
