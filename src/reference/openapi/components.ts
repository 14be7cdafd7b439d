// What operations share: names, tags, parameters and headers.

import type { Format } from "../../formats/format.ts";
import { maxFilters, maxFilterValues, maxPageSize, maxSortFields } from "../../model/limits.ts";
import { fieldPaths, type Resource } from "../../model/resource.ts";
import type { Schema } from "../json-schema.ts";

export interface OpenapiOperation extends Schema {
  readonly operationId: string;
  readonly summary: string;
  readonly responses: { readonly 200: Schema; readonly [status: number]: Schema };
}

/** Names a component or operation in a format: `listBrands` for JSON, `listBrandsXml` for XML. */
export function nameIn({ name: format }: Format, name: string): string {
  return format === "json" ? name : name + capitalize(format);
}

/** Converts words, such as `order status` or `bad-request`, to an identifier: `OrderStatus`. */
export function identifierOf(words: string): string {
  return words.split(/[ -]/).map(capitalize).join("");
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Removes the charset. */
export function mediaType(contentType: string): string {
  return contentType.replace(/;.*/, "");
}

export function ref(kind: "schemas" | "headers" | "parameters" | "responses", name: string): Schema {
  return { $ref: `#/components/${kind}/${name}` };
}

/** What operations are grouped by: a resource, the feed or batch requests. */
export type Tagged = Pick<Resource, "plural" | "description">;

export function tagOf({ plural }: Tagged, { name }: Format): string {
  return name === "json" ? capitalize(plural) : `${capitalize(plural)} in ${name.toUpperCase()}`;
}

/** Returns `a brand`, `an order status`. */
export function withArticle(singular: string): string {
  return `${/^[aeiou]/.test(singular) ? "an" : "a"} ${singular}`;
}

// The parameters: path, query and request header fields (contract sections 2, 3, 6 and 7).

const idSchema: Schema = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

const override: Schema = {
  name: "X-HTTP-Method-Override",
  in: "header",
  description: "The method to use instead of POST, for clients behind a proxy that only lets GET and POST through.",
  schema: { type: "string", enum: ["PUT", "PATCH", "DELETE"] },
};

const shared: Record<string, Schema> = {
  id: {
    name: "id",
    in: "path",
    required: true,
    description: "The record's ID.",
    schema: idSchema,
    example: 1,
  },
  ID: {
    name: "ID",
    in: "query",
    description: "The record's ID, if it isn't in the body.",
    schema: idSchema,
  },
  dryRun: {
    name: "dryRun",
    in: "query",
    description: "`1`: return the same response, with `X-Dry-Run: 1`, but store nothing.",
    schema: { type: "string", enum: ["0", "1"], default: "0" },
  },
  limit: {
    name: "limit",
    in: "query",
    description: "Maximum number of records. Default: all.",
    schema: { type: "integer", minimum: 1, maximum: maxPageSize },
  },
  offset: {
    name: "offset",
    in: "query",
    description: "Number of records to skip.",
    schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 },
  },
  "If-None-Match": {
    name: "If-None-Match",
    in: "header",
    description: "The `ETag` of your copy. If it's still current, you get a 304 without a body.",
    schema: { type: "string" },
  },
  "If-Match": {
    name: "If-Match",
    in: "header",
    description:
      "The `ETag` of the record or list you read, including the quotes. If it has changed since, you get a 412.",
    schema: { type: "string" },
  },
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    description:
      "A unique key for this request. If you repeat the request with it within 24 hours, you get the first response again, and nothing is written twice.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[ -~]+$" },
  },
  MethodOverride: { ...override, required: true },
  "X-HTTP-Method-Override": override,
};

/** `components.parameters`: the shared ones, and those that list a resource's fields. */
export function parameterComponents(resources: readonly Resource[]): Record<string, Schema> {
  const own = resources.flatMap((resource) => Object.entries(fieldParameters(resource)));
  return { ...shared, ...Object.fromEntries(own) };
}

/** A filter's value: a string for an exact match, `{ contains }` or `{ in }`. */
export const filterValue: Schema = {
  title: "Filter",
  description:
    "An exact value, as in `filter[Name]=Acme`; part of the value (ignoring case), as in `filter[Name][contains]=acm`; or any of several values or IDs, as in `filter[ID][in]=3,5,8`.",
  anyOf: [
    { type: "string" },
    filterObject("contains", { type: "string", description: "Ignores case." }),
    filterObject("in", {
      type: "string",
      minLength: 1,
      description: `Up to ${maxFilterValues} values or IDs, separated by commas. As in CSV, put a value that contains a comma in double quotes, and double the quotes in it.`,
    }),
  ],
};

function filterObject(operator: string, value: Schema): Schema {
  return { type: "object", required: [operator], properties: { [operator]: value }, additionalProperties: false };
}

/** By kind of operation. */
export const parameterRefs = {
  list: ({ element }: Resource) =>
    ["limit", "offset", `${element}Sort`, `${element}Filter`, `${element}Fields`, "If-Match", "If-None-Match"].map(
      toRef,
    ),
  lookUp: ["id", "If-Match", "If-None-Match"].map(toRef),
  override: ["id", "dryRun", "MethodOverride", "If-Match", "Idempotency-Key"].map(toRef),
  create: ["dryRun", "Idempotency-Key", "X-HTTP-Method-Override"].map(toRef),
  changeByPath: ["id", "dryRun", "If-Match", "Idempotency-Key"].map(toRef),
  changeByBody: ["ID", "dryRun", "If-Match", "Idempotency-Key"].map(toRef),
  preflightByPath: ["id"].map(toRef),
};

function toRef(name: string): Schema {
  return ref("parameters", name);
}

function fieldParameters(resource: Resource): Record<string, Schema> {
  const { element, plural } = resource;
  const textFields = ["ID", ...resource.textFields.map(({ path }) => path)];
  return {
    [`${element}Sort`]: sortParameter(plural, textFields),
    [`${element}Filter`]: filterParameter(plural, textFields),
    [`${element}Fields`]: fieldsParameter(plural, fieldPaths(resource)),
  };
}

function sortParameter(plural: string, textFields: readonly string[]): Schema {
  return {
    name: "sort",
    in: "query",
    description: `Up to ${maxSortFields} fields to sort the ${plural} by. Put \`-\` before a field for descending order. Ties are in ID order. ${listSyntax}`,
    style: "form",
    explode: false,
    schema: {
      type: "array",
      minItems: 1,
      maxItems: maxSortFields,
      items: { type: "string", enum: textFields.flatMap((path) => [path, `-${path}`]) },
    },
    example: ["Name", "-ID"],
  };
}

function filterParameter(plural: string, textFields: readonly string[]): Schema {
  return {
    name: "filter",
    in: "query",
    description: `Which ${plural} to return: \`filter[Name]=Acme\` for an exact match, \`filter[Name][contains]=acm\` for part of the value (ignoring case), \`filter[ID][in]=3,5,8\` for any of these. You can send up to ${maxFilters} filters; records must match all of them.`,
    style: "deepObject",
    explode: true,
    schema: {
      type: "object",
      maxProperties: maxFilters,
      propertyNames: { enum: textFields },
      additionalProperties: ref("schemas", "FilterValue"),
      "x-additionalPropertiesName": "field",
    },
    example: { Name: { contains: "acm" } },
  };
}

function fieldsParameter(plural: string, paths: readonly string[]): Schema {
  return {
    name: "fields",
    in: "query",
    description: `Which fields of the ${plural} to return, besides the ID. ${listSyntax}`,
    style: "form",
    explode: false,
    schema: { type: "array", minItems: 1, items: { type: "string", enum: paths } },
    example: ["Name"],
  };
}

const listSyntax = "Separate fields with commas, or repeat the parameter.";

// Response headers. A required one is in every response for which the document lists it.

type Header = readonly [description: string, schema: Schema, isRequired?: boolean];

const constant = (value: string): Schema => ({ type: "string", const: value });
const text = (example: string): Schema => ({ type: "string", examples: [example] });
const seconds: Schema = { type: "integer", minimum: 1, examples: [1] };

const headers: Readonly<Record<string, Header>> = {
  "Cache-Control": ["Caches must not store the response.", constant("no-cache, no-store, must-revalidate"), true],
  Pragma: ["The same for HTTP/1.0 caches.", constant("no-cache"), true],
  Expires: ["The same for HTTP/1.0 caches.", constant("-1"), true],
  "Access-Control-Allow-Origin": ["Scripts from any origin can read the response.", constant("*"), true],
  "Access-Control-Expose-Headers": [
    "The headers that scripts can read. Only sent if the request has an `Origin`.",
    text("ETag, Location, X-Request-Id"),
  ],
  "X-Content-Type-Options": ["Browsers mustn't guess the content type.", constant("nosniff"), true],
  "X-Request-Id": ["The request's ID, as in the server's log.", text("k3J9aZ0q1"), true],
  Date: ["When the response was made.", text("Mon, 02 Nov 2026 09:30:00 GMT")],
  "Content-Length": ["Size of the body as sent, in bytes.", { type: "integer", minimum: 0, examples: [270] }],
  "Content-Encoding": [
    "How a long response is compressed, if `Accept-Encoding` allows it.",
    { enum: ["zstd", "gzip"] },
  ],
  "Accept-Encoding": ["The compression to use for bodies, if the request used an unsupported one.", constant("gzip")],
  Vary: ["The response's compression depends on `Accept-Encoding`.", constant("Accept-Encoding")],
  ETag: [
    "The version of the record or list, for `If-Match` and `If-None-Match`.",
    { type: "string", pattern: '^"[^"]+"$', examples: ['"m8Xk2.17.json"'] },
    true,
  ],
  Location: [
    "The path of the new record.",
    { type: "string", format: "uri-reference", examples: ["/restapi/brands/1.json"] },
    true,
  ],
  "X-Total-Count": ["How many records match, on all pages.", { type: "integer", minimum: 0, examples: [3] }, true],
  Link: [
    "The other pages (RFC 8288). Only sent if the request has `limit` and the value fits in 4 KiB.",
    text('</restapi/brands.json?limit=2&offset=2>; rel="next"'),
  ],
  "Idempotency-Replayed": [
    "This is the stored response to an earlier request with the same `Idempotency-Key`.",
    constant("true"),
  ],
  "Retry-After": ["How many seconds to wait before trying again.", seconds, true],
  RateLimit: ["What's left of the key's rate limit, if it has one.", text('"key";r=99;t=1')],
  "RateLimit-Policy": ["The key's rate limit, if it has one.", text('"key";q=100;w=2')],
  "X-Dry-Run": ["Nothing was stored, because the request had `dryRun=1`.", constant("1")],
  "X-Key-Expires": [
    "When the key expires. Only sent in its last 30 days.",
    { type: "string", format: "date-time", examples: ["2027-01-31T12:00:00.000Z"] },
  ],
  "X-Sandbox": ["The sandbox's name. Only sent for sandbox keys (`sfk_test_...`).", text("demo-sandbox")],
  "WWW-Authenticate": [
    "How to authenticate.",
    { type: "string", pattern: '^ApiKey realm="[^"]*", header="X-API-AUTH"$' },
    true,
  ],
  Allow: ["The methods that the path supports.", text("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"), true],
  "Access-Control-Allow-Methods": [
    "The methods that the path supports, for scripts.",
    text("GET, HEAD, OPTIONS"),
    true,
  ],
  "Access-Control-Allow-Headers": [
    "The headers that scripts can send.",
    text("X-API-AUTH, Content-Type, If-Match"),
    true,
  ],
  "Access-Control-Max-Age": ["How many seconds browsers can cache this response.", constant("86400"), true],
};

/** In every response, including errors. */
const common = [
  "Cache-Control",
  "Pragma",
  "Expires",
  "Access-Control-Allow-Origin",
  "Access-Control-Expose-Headers",
  "X-Content-Type-Options",
  "X-Request-Id",
  "Date",
  "Content-Length",
];

/** In every response to an API key. */
const ofKey = ["RateLimit", "RateLimit-Policy", "X-Key-Expires", "X-Sandbox"];

/** In every response to a write. */
const ofWrite = ["Idempotency-Replayed", "X-Dry-Run", ...ofKey];

/** Headers by kind of response, in addition to the common ones. `?` marks optional ones. */
export const headersOf = {
  list: ["ETag", "X-Total-Count", "Link", "Vary", "Content-Encoding", ...ofKey],
  key: ofKey,
  createdWebhook: ["Location", ...ofKey],
  feed: ["Vary", "Content-Encoding", ...ofKey],
  record: ["ETag", ...ofKey],
  created: ["ETag", "Location", ...ofWrite],
  updated: ["ETag", ...ofWrite],
  overridden: ["ETag?", ...ofWrite],
  deleted: ofWrite,
  batch: ["Vary", "Content-Encoding", ...ofWrite],
  notModified: ["ETag", ...ofKey],
  options: ["Allow", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Max-Age"],
  problem: ["X-Dry-Run", ...ofKey],
} as const;

/** A response's `headers`: the common ones and `names`. */
export function headerRefs(names: readonly string[]): Record<string, Schema> {
  return Object.fromEntries([...common, ...names].map(headerRef));
}

/** Returns `components.headers`. */
export function headerComponents(): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, [description, schema, isRequired]]) => [
      name,
      { description, ...(isRequired ? { required: true } : {}), schema },
    ]),
  );
}

function headerRef(marked: string): [string, Schema] {
  const name = marked.replace("?", "");
  if (name === marked) return [name, ref("headers", name)];
  const [description, schema] = headers[name] ?? [];
  return [name, { description, schema }];
}
