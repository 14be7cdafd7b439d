// Derives example requests for tools from the OpenAPI document.

import type { Schema } from "../src/reference/json-schema.ts";

export interface ExampleRequest {
  /** The heading of the request in the tool. */
  readonly tag: string;
  readonly name: string;
  readonly method: string;
  /** The path. For the ID of a record, it contains `{{id}}`. */
  readonly path: string;
  readonly query: readonly { readonly name: string; readonly description: string }[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** The members of the document that this file reads. */
interface OpenapiDocument {
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly tags: readonly [string];
  readonly summary: string;
  readonly parameters?: readonly { readonly $ref: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly required?: boolean;
  readonly schema: { readonly enum?: readonly string[] };
}

/** Returns a request for each operation of the document, except HEAD and OPTIONS. */
export function exampleRequests(document: Schema): ExampleRequest[] {
  const { components, paths } = document as unknown as OpenapiDocument;
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => method !== "head" && method !== "options")
      .map(([method, operation]) => {
        const names = new Set(operation.parameters?.map(({ $ref }) => $ref.replace(/.*\//, "")));
        const parameters = Object.entries(components.parameters).flatMap(([name, one]) =>
          names.has(name) ? [one] : [],
        );
        return {
          tag: operation.tags[0],
          name: operation.summary,
          method: method.toUpperCase(),
          path: path.replace("{id}", "{{id}}"),
          query: parameters.filter((parameter) => parameter.in === "query"),
          headers: requiredHeaders(parameters),
          body: bodyOf(operation),
        };
      }),
  );
}

function requiredHeaders(parameters: readonly Parameter[]): Record<string, string> {
  const required = parameters.filter((parameter) => parameter.in === "header" && parameter.required);
  return Object.fromEntries(required.map(({ name, schema }) => [name, schema.enum?.[0] ?? ""]));
}

/** Returns the example of the body. In the document, it is a text for XML and a value for JSON. */
function bodyOf({ requestBody }: Operation): string | undefined {
  if (!requestBody) return undefined;
  const example = Object.values(requestBody.content)[0]?.example;
  const text = typeof example === "string" ? example : JSON.stringify(example, null, 2);
  return text.replace(/"ID": 1\b/, '"ID": {{id}}').replace('ID="1"', 'ID="{{id}}"');
}
