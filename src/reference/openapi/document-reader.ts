// Reads the OpenAPI document, to make the reference page and the documents with the operations of one format.

import type { Schema } from "../json-schema.ts";

/** The members of the document that this program reads. */
export interface OpenapiDocument extends Schema {
  readonly info: {
    readonly title: string;
    readonly summary: string;
    readonly description: string;
    readonly version: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: PathItems;
  /** Only in a document with the operations on JSON, because the bodies of webhooks are JSON. */
  readonly webhooks?: PathItems;
  readonly components: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
}

/** Operations, by path (or name of a webhook) and method. */
type PathItems = Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;

interface DocumentedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Schema[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Schema>>;
  /** Marks another form of an operation, and HEAD and OPTIONS. */
  readonly "x-secondary"?: boolean;
}

export type Content = Readonly<
  Record<
    string,
    {
      readonly schema: Schema;
      readonly example?: unknown;
      readonly examples?: Examples;
      /** A body in XML. */
      readonly "x-example"?: string;
      readonly "x-examples"?: Examples;
    }
  >
>;

type Examples = Readonly<Record<string, { readonly value?: unknown }>>;

export interface DocumentedParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly required?: boolean;
  readonly style?: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

/** An operation in each of its formats. The formats differ in the suffix of the path. */
export interface OperationPair {
  readonly method: string;
  /** In the order of the document, by the name of the format: `json`. */
  readonly formats: Readonly<Record<string, { readonly path: string; readonly operation: DocumentedOperation }>>;
  /** The operation in the first format. */
  readonly operation: DocumentedOperation;
}

/** Returns the operations by tag, in the order of the document, without HEAD and OPTIONS. */
export function operationPairs(document: OpenapiDocument): Map<string, OperationPair[]> {
  const pairs = new Map<string, OperationPair>();
  for (const [path, operations] of Object.entries(document.paths)) {
    const format = formatOf(path);
    for (const [method, operation] of Object.entries(operations)) {
      if (method === "head" || method === "options") continue;
      const key = `${method} ${path.replace(/\.[a-z]+$/, "")}`;
      const known = pairs.get(key) ?? { method, formats: {}, operation };
      pairs.set(key, { ...known, formats: { ...known.formats, [format]: { path, operation } } });
    }
  }
  return Map.groupBy(pairs.values(), ({ operation }) => operation.tags[0] ?? "");
}

/** Returns the value that the `$ref` of `value` names; `value` itself if it has none. */
export function resolve<T = Schema>(document: Schema, value: Schema): T {
  if (typeof value.$ref !== "string") return value as T;
  const keys = value.$ref.slice(2).split("/");
  return resolve(
    document,
    keys.reduce((inner: Schema, key) => inner[key] as Schema, document),
  );
}

/**
 * Returns the example of a body as a text; undefined if the body has no example.
 * @param name the name of the wanted example, if the body has several. By default, and if it is missing, the first
 */
export function exampleOf(content: Content | undefined, name?: string): string | undefined {
  const media = Object.values(content ?? {})[0];
  const several = media?.examples ?? media?.["x-examples"] ?? {};
  const named = several[name ?? ""] ?? Object.values(several)[0];
  const example = media?.example ?? media?.["x-example"] ?? named?.value;
  return example === undefined || typeof example === "string" ? example : JSON.stringify(example, null, 2);
}

/** Returns the document with only the operations of one format, and the components that they use. */
export function documentInFormat(document: OpenapiDocument, format: string): OpenapiDocument {
  const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => formatOf(path) === format));
  const { webhooks, "x-tagGroups": _, ...rest } = document;
  const kept = { ...rest, paths, ...(webhooks && format === "json" ? { webhooks } : {}) };
  const tags = new Set(itemsOf(kept).flatMap((item) => Object.values(item).flatMap((one) => one.tags)));
  return withUsedComponents({ ...kept, tags: document.tags.filter(({ name }) => tags.has(name)) });
}

/** Returns the document without the components that no operation uses. */
export function withUsedComponents(document: OpenapiDocument): OpenapiDocument {
  const { securitySchemes: _, ...kinds } = document.components;
  const used = referencesIn(document, itemsOf(document), new Set());
  const kept = Object.entries(kinds).map(([kind, all]) => [
    kind,
    Object.fromEntries(Object.entries(all).filter(([name]) => used.has(`#/components/${kind}/${name}`))),
  ]);
  return { ...document, components: { ...document.components, ...Object.fromEntries(kept) } };
}

function itemsOf({ paths, webhooks = {} }: OpenapiDocument) {
  return [...Object.values(paths), ...Object.values(webhooks)];
}

function formatOf(path: string): string {
  return /\.([a-z]+)$/.exec(path)?.[1] ?? "";
}

/** Returns every `$ref` in `value` and in the values that it references. @param found receives them */
function referencesIn(document: Schema, value: unknown, found: Set<string>): Set<string> {
  if (typeof value !== "object" || value === null) return found;
  const { $ref } = value as Schema;
  if (typeof $ref === "string" && !found.has($ref))
    referencesIn(document, resolve(document, { $ref }), found.add($ref));
  for (const inner of Object.values(value)) referencesIn(document, inner, found);
  return found;
}
