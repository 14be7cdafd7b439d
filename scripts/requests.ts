// The requests of the interface as tools show them, from the OpenAPI document.

import type { Schema } from "../src/reference/json-schema.ts";

export interface ExampleRequest {
  /** The heading it stands under. */
  readonly tag: string;
  readonly name: string;
  readonly method: string;
  /** With `{{id}}` for the ID of a record. */
  readonly path: string;
  readonly query: readonly { readonly name: string; readonly description: string }[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

interface Operation {
  readonly tags: readonly [string];
  readonly summary: string;
  readonly parameters?: readonly { readonly $ref: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
  readonly "x-scalar-ignore"?: boolean;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly required?: boolean;
  readonly schema: { readonly enum?: readonly string[] };
}

/** Every operation that has a place in the reference, in its order. */
export function exampleRequests(document: Schema): ExampleRequest[] {
  const parameters = (document.components as { parameters: Record<string, Parameter> }).parameters;
  const paths = document.paths as Record<string, Record<string, Operation>>;
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => !operation["x-scalar-ignore"])
      .map(([method, operation]) => {
        const taken = (operation.parameters ?? []).map(
          ({ $ref }) => parameters[$ref.split("/").at(-1) as string] as Parameter,
        );
        return {
          tag: operation.tags[0],
          name: operation.summary,
          method: method.toUpperCase(),
          path: path.replace("{id}", "{{id}}"),
          query: taken.filter((parameter) => parameter.in === "query"),
          headers: requiredHeaders(taken),
          body: bodyOf(operation),
        };
      }),
  );
}

function requiredHeaders(parameters: readonly Parameter[]): Record<string, string> {
  const required = parameters.filter((parameter) => parameter.in === "header" && parameter.required);
  return Object.fromEntries(required.map(({ name, schema }) => [name, schema.enum?.[0] ?? ""]));
}

/** The example of the body: a text in XML, a value in JSON. */
function bodyOf({ requestBody }: Operation): string | undefined {
  if (!requestBody) return undefined;
  const example = Object.values(requestBody.content)[0]?.example;
  const text = typeof example === "string" ? example : JSON.stringify(example, null, 2);
  return text.replace(/"ID": 1\b/, '"ID": {{id}}').replace('ID="1"', 'ID="{{id}}"');
}
