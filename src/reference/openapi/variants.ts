// The variants of the OpenAPI document: OpenAPI 3.1 or 3.0, with the operations of all formats or of one, in JSON or YAML.
//
// The path selects JSON or YAML, and two parameters of the query select the rest. Each variant is a file of its own, with its own ETag.

import { formats } from "../../formats/format.ts";
import { ProblemError } from "../../model/errors.ts";

/** The parameters that select a variant, and their values. */
const parameters = {
  format: formats.map(({ name }) => name),
  /** The version of OpenAPI. */
  openapi: ["3.0", "3.1"],
} as const;

/** The version of OpenAPI without the parameter. */
const defaultOpenapi = "3.1";

/** The paths of the document in JSON and in YAML. */
export const openapiPaths: readonly string[] = ["/openapi.json", "/openapi.yaml"];

interface OpenapiVariant {
  readonly openapi: string;
  /** The format whose operations the document contains; undefined for all formats. */
  readonly format: string | undefined;
}

/** Returns all variants, each of which has both paths. */
export function openapiVariants(): readonly OpenapiVariant[] {
  return parameters.openapi.flatMap((openapi) =>
    [undefined, ...parameters.format].map((format) => ({ openapi, format })),
  );
}

/**
 * Returns the key of the variant that a request selects.
 * @param path the path of an OpenAPI document
 * @throws ProblemError `bad-request` if a parameter has a value that it cannot have
 */
export function requestedOpenapiKey(path: string, query: string): string {
  const sent = new URLSearchParams(query);
  return openapiKey(path, chosenValue(sent, "openapi") ?? defaultOpenapi, chosenValue(sent, "format"));
}

/** Returns the key of a variant: the path, with the parameters that are not the default. */
export function openapiKey(path: string, openapi: string, format: string | undefined): string {
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
