// The headers of the answers, each with what it holds. `required` is one that every answer of its kind carries.

import type { Schema } from "../json-schema.ts";
import { ref } from "./interface.ts";

type Header = readonly [description: string, schema: Schema, isRequired?: boolean];

const constant = (value: string): Schema => ({ type: "string", const: value });
const text = (example: string): Schema => ({ type: "string", examples: [example] });
const seconds: Schema = { type: "integer", minimum: 1, examples: [1] };

/** By the header's own name. */
const headers: Readonly<Record<string, Header>> = {
  "Cache-Control": ["Nothing is to be kept.", constant("no-cache, no-store, must-revalidate"), true],
  Pragma: ["The same for old caches.", constant("no-cache"), true],
  Expires: ["The same again.", constant("-1"), true],
  "Access-Control-Allow-Origin": ["Any web page may read the answer.", constant("*"), true],
  "Access-Control-Expose-Headers": [
    "The headers that a script may read; only when the request names its `Origin`.",
    text("ETag, Location, X-Request-Id"),
  ],
  "X-Content-Type-Options": ["The body is what `Content-Type` says.", constant("nosniff"), true],
  "X-Request-Id": ["Names this answer, also in the server's log.", text("k3J9aZ0q1"), true],
  Date: ["When the server answered.", text("Mon, 02 Nov 2026 09:30:00 GMT")],
  "Content-Length": ["Bytes of the body as it is sent.", { type: "integer", minimum: 0, examples: [270] }],
  "Content-Encoding": ["How a long list is compressed, when `Accept-Encoding` allows it.", { enum: ["zstd", "gzip"] }],
  Vary: ["Lists are compressed by `Accept-Encoding`.", constant("Accept-Encoding")],
  ETag: [
    "Tells this state of the record or list from every other. Send it in `If-Match` or `If-None-Match`.",
    { type: "string", pattern: '^"[^"]+"$', examples: ['"m8Xk2.17.json"'] },
    true,
  ],
  Location: [
    "Where the new record is.",
    { type: "string", format: "uri-reference", examples: ["/restapi/brands/1.json"] },
    true,
  ],
  "X-Total-Count": [
    "How many records the list has without `limit` and `offset`.",
    { type: "integer", minimum: 0, examples: [3] },
    true,
  ],
  Link: [
    "Where the other pages are (RFC 8288); with `limit`, unless it would be longer than 4 KiB.",
    text('</restapi/brands.json?limit=2&offset=2>; rel="next"'),
  ],
  "Idempotency-Replayed": [
    "This is the first response again: the `Idempotency-Key` was used for the same request before.",
    constant("true"),
  ],
  "Retry-After": ["Seconds after which trying again makes sense.", seconds, true],
  RateLimit: ["What is left of the key's allowance, where it has one.", text('"key";r=99;t=1')],
  "RateLimit-Policy": ["The key's allowance, where it has one.", text('"key";q=100;w=2')],
  "WWW-Authenticate": [
    "How to authenticate.",
    { type: "string", pattern: '^ApiKey realm="[^"]*", header="X-API-AUTH"$' },
    true,
  ],
  Allow: ["The methods that the path has.", text("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"), true],
  "Access-Control-Allow-Methods": ["The same for a browser's preflight.", text("GET, HEAD, OPTIONS"), true],
  "Access-Control-Allow-Headers": [
    "The headers that a script may send.",
    text("X-API-AUTH, Content-Type, If-Match"),
    true,
  ],
  "Access-Control-Max-Age": ["Seconds for which a browser may remember this.", constant("86400"), true],
};

/** On every answer, errors too. */
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

const rates = ["RateLimit", "RateLimit-Policy"];

/** The names of the headers that belong to an answer, besides those of every answer; `?` after one that may be absent. */
export const headersOf = {
  list: ["ETag", "X-Total-Count", "Link", "Vary", "Content-Encoding", ...rates],
  record: ["ETag", ...rates],
  created: ["ETag", "Location", "Idempotency-Replayed", ...rates],
  updated: ["ETag", "Idempotency-Replayed", ...rates],
  overridden: ["ETag?", "Idempotency-Replayed", ...rates],
  deleted: ["Idempotency-Replayed", ...rates],
  notModified: ["ETag", ...rates],
  options: ["Allow", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Max-Age"],
  problem: rates,
} as const;

/** The `headers` of an answer that has those `names`. */
export function headerRefs(names: readonly string[]): Record<string, Schema> {
  return Object.fromEntries(
    [...common, ...names].map((name) => (name.endsWith("?") ? optional(name) : required(name))),
  );
}

/** `components.headers`. */
export function headerComponents(): Record<string, Schema> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, headerObject(name)]));
}

function headerObject(name: string): Schema {
  const [description, schema, isRequired] = headers[name] as Header;
  return { description, ...(isRequired ? { required: true } : {}), schema };
}

function required(name: string): [string, Schema] {
  return [name, ref("headers", name)];
}

function optional(marked: string): [string, Schema] {
  const name = marked.slice(0, -1);
  const { required: _, ...header } = headerObject(name);
  return [name, header];
}
