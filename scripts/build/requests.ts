// Derives example requests for tools from the OpenAPI document. Sent in order, they create records, use the IDs that come back, and delete those records
// again. They don't touch any other record. The first batch request is a dry run, and the second gets undone.

import type { Schema } from "../../src/reference/json-schema.ts";
import { createsName } from "../../src/reference/openapi/batch.ts";
import { type Content, exampleOf } from "../../src/reference/openapi/document-reader.ts";

export interface ExampleRequest {
  /** The request's heading in the tool. */
  readonly tag: string;
  readonly name: string;
  /** A unique name for programs, such as `createBrand`. */
  readonly id: string;
  readonly method: string;
  /** With `{{id}}` for a record's ID. */
  readonly path: string;
  readonly query: readonly ExampleParameter[];
  readonly headers: Readonly<Record<string, string>>;
  /** With `{{id}}` for the ID of a record or run. */
  readonly body: string | undefined;
  /** The variable for this resource's IDs, such as `brandId`, or `run`. */
  readonly variable: string;
  /** The earlier request whose response has the ID for `{{id}}`; undefined without `{{id}}`. */
  readonly idSource: IdSource | undefined;
  /** Whether a later request gets its ID from this one's response. */
  readonly isIdSource: boolean;
}

export interface IdSource {
  readonly id: string;
  /** A new record, a list's first record, or a run. */
  readonly kind: "record" | "list" | "run";
  /** The XML element's name; undefined for JSON. */
  readonly element: string | undefined;
}

interface ExampleParameter {
  readonly name: string;
  readonly description: string;
  /** Undefined for a parameter that's shown but not sent. */
  readonly value?: string;
}

/** What this file reads from the document. */
interface OpenapiDocument {
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly tags: readonly [string];
  readonly summary: string;
  readonly operationId: string;
  readonly parameters?: readonly { readonly $ref: string }[];
  readonly requestBody?: { readonly content: Content };
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly required?: boolean;
  readonly schema: { readonly enum?: readonly string[] };
}

/** A request whose ID source isn't known yet. */
type Draft = Omit<ExampleRequest, "variable" | "idSource" | "isIdSource">;

/** Returns a request for every operation except HEAD and OPTIONS, plus creates so that each delete has a record. */
export function exampleRequests(document: Schema): ExampleRequest[] {
  const { components, paths } = document as unknown as OpenapiDocument;
  const drafts = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => method !== "head" && method !== "options")
      .map(([method, operation]) => toDraft(path, method, operation, components.parameters)),
  );
  const tags = [...new Set(drafts.map(({ tag }) => tag))];
  return tags.flatMap((tag) => {
    const ofTag = drafts.filter((draft) => draft.tag === tag).sort(byRank);
    return ofTag.some(isUndo) ? toRunRequests(ofTag) : withSources(withCreates(ofTag));
  });
}

const runVariable = "run";

function isUndo({ path }: Draft): boolean {
  return path.includes("/undo.");
}

/** Returns the requests for batches: a dry run, the same for real, and its undo. */
function toRunRequests(drafts: readonly Draft[]): ExampleRequest[] {
  return drafts.flatMap((draft): ExampleRequest[] => {
    const common = { ...draft, variable: runVariable, idSource: undefined, isIdSource: false };
    const source = drafts.find((one) => !isUndo(one));
    if (isUndo(draft) && source) return [{ ...common, idSource: toRunSource(source) }];
    const query = draft.query.map((one) => (one.name === "dryRun" ? { ...one, value: "1" } : one));
    return [
      { ...common, name: `${draft.name}: dry run`, id: `${draft.id}DryRun`, query },
      { ...common, isIdSource: true },
    ];
  });
}

function toRunSource({ id, path }: Draft): IdSource {
  return { id, kind: "run", element: path.endsWith(".xml") ? "BatchResults" : undefined };
}

function toDraft(path: string, method: string, operation: Operation, all: Readonly<Record<string, Parameter>>): Draft {
  const names = new Set(operation.parameters?.map(({ $ref }) => $ref.replace(/.*\//, "")));
  const parameters = Object.entries(all).flatMap(([name, one]) => (names.has(name) ? [one] : []));
  return {
    tag: operation.tags[0],
    name: operation.summary,
    id: operation.operationId,
    method: method.toUpperCase(),
    path: path.replace("{id}", "{{id}}"),
    query: parameters.filter((parameter) => parameter.in === "query"),
    headers: requiredHeaders(parameters),
    body: bodyOf(operation),
  };
}

/** The order of a tag's requests, by method and whether the path has an ID. */
const ranks = ["GET", "POST", "GET id", "PUT id", "PATCH id", "PUT", "PATCH", "POST id", "DELETE id", "DELETE"];

function byRank(a: Draft, b: Draft): number {
  return rankOf(a) - rankOf(b);
}

function rankOf({ method, path }: Draft): number {
  return ranks.indexOf(method + (path.includes("{{id}}") ? " id" : ""));
}

/** Inserts a create before each delete except the first, which deletes the first create's record. */
function withCreates(drafts: readonly Draft[]): Draft[] {
  const create = drafts.find(isCreate);
  let deletes = 0;
  return drafts.flatMap((draft) => {
    if (!create || draft.method !== "DELETE" || deletes++ === 0) return [draft];
    return [{ ...create, name: `${create.name} again`, id: `${create.id}Again` }, draft];
  });
}

function isCreate({ method, path }: Draft): boolean {
  return method === "POST" && !path.includes("{{id}}");
}

/** Connects each request for a record to the last create before it, or else to the list. */
function withSources(drafts: readonly Draft[]): ExampleRequest[] {
  const used = new Set<string>();
  const requests = drafts.map((draft, index) => {
    const source = drafts.slice(0, index).findLast(isCreate) ?? drafts[0];
    const needsId = `${draft.path}${draft.body ?? ""}`.includes("{{id}}");
    if (!needsId || !source) return { ...draft, idSource: undefined };
    used.add(source.id);
    return { ...draft, idSource: toSource(source, drafts) };
  });
  const variable = variableOf(drafts);
  return requests.map((request) => ({ ...request, variable, isIdSource: used.has(request.id) }));
}

function toSource(source: Draft, drafts: readonly Draft[]): IdSource {
  const element = source.path.endsWith(".xml") ? elementOf(drafts) : undefined;
  return { id: source.id, kind: isCreate(source) ? "record" : "list", element };
}

/** `Brand` for `getBrand` and `getBrandXml`. */
function elementOf(drafts: readonly Draft[]): string {
  const lookUp = drafts.find(({ method, path }) => method === "GET" && path.includes("{{id}}"));
  return (lookUp?.id ?? "").replace(/^get|Xml$/g, "");
}

function variableOf(drafts: readonly Draft[]): string {
  const element = elementOf(drafts);
  return `${element.charAt(0).toLowerCase()}${element.slice(1)}Id`;
}

function requiredHeaders(parameters: readonly Parameter[]): Record<string, string> {
  const required = parameters.filter((parameter) => parameter.in === "header" && parameter.required);
  return Object.fromEntries(required.map(({ name, schema }) => [name, schema.enum?.[0] ?? ""]));
}

function bodyOf({ requestBody }: Operation): string | undefined {
  return exampleOf(requestBody?.content, createsName)
    ?.replace(/"ID": 1\b/, '"ID": {{id}}')
    .replace('ID="1"', 'ID="{{id}}"')
    .replace(/"Run": "[^"]+"/, '"Run": "{{id}}"')
    .replace(/ Run="[^"]+"/, ' Run="{{id}}"');
}

/** Returns the query with those parameters that have a value. */
export function sentQuery(query: ExampleRequest["query"]): string {
  const sent = query.flatMap(({ name, value }) => (value === undefined ? [] : [`${name}=${value}`]));
  return sent.length > 0 ? `?${sent.join("&")}` : "";
}

/** Which member's value later requests use. */
export function idNameOf({ variable }: ExampleRequest): "ID" | "Run" {
  return variable === runVariable ? "Run" : "ID";
}

/** Whether this is the last request to use its record's or run's ID. */
export function endsId({ method, idSource }: ExampleRequest): boolean {
  return method === "DELETE" || idSource?.kind === "run";
}
