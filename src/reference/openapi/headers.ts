// The response header fields. A field marked as required is in every response that the document lists it for.

import type { Schema } from "../json-schema.ts";
import { ref } from "./components.ts";

type Header = readonly [description: string, schema: Schema, isRequired?: boolean];

const constant = (value: string): Schema => ({ type: "string", const: value });
const text = (example: string): Schema => ({ type: "string", examples: [example] });
const seconds: Schema = { type: "integer", minimum: 1, examples: [1] };

const headers: Readonly<Record<string, Header>> = {
  "Cache-Control": ["Caches must not store the response.", constant("no-cache, no-store, must-revalidate"), true],
  Pragma: ["The same for HTTP/1.0 caches.", constant("no-cache"), true],
  Expires: ["The same for HTTP/1.0 caches.", constant("-1"), true],
  "Access-Control-Allow-Origin": ["Scripts of every origin can read the response.", constant("*"), true],
  "Access-Control-Expose-Headers": [
    "The header fields that a script can read. Only if the request has an `Origin`.",
    text("ETag, Location, X-Request-Id"),
  ],
  "X-Content-Type-Options": ["Browsers must not guess the content type.", constant("nosniff"), true],
  "X-Request-Id": ["The ID of the request, also in the server's log.", text("k3J9aZ0q1"), true],
  Date: ["When the server made the response.", text("Mon, 02 Nov 2026 09:30:00 GMT")],
  "Content-Length": ["Bytes of the body as sent.", { type: "integer", minimum: 0, examples: [270] }],
  "Content-Encoding": ["The compression of a long list, if `Accept-Encoding` allows one.", { enum: ["zstd", "gzip"] }],
  Vary: ["The compression of a list depends on `Accept-Encoding`.", constant("Accept-Encoding")],
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
  "X-Total-Count": [
    "The number of matching records on all pages.",
    { type: "integer", minimum: 0, examples: [3] },
    true,
  ],
  Link: [
    "The other pages (RFC 8288). Only if the request has `limit` and the value is at most 4 KiB long.",
    text('</restapi/brands.json?limit=2&offset=2>; rel="next"'),
  ],
  "Idempotency-Replayed": [
    "This is the stored response of an earlier request with the same `Idempotency-Key`.",
    constant("true"),
  ],
  "Retry-After": ["Seconds to wait before you try again.", seconds, true],
  RateLimit: ["The rest of the key's rate limit, if it has one.", text('"key";r=99;t=1')],
  "RateLimit-Policy": ["The key's rate limit, if it has one.", text('"key";q=100;w=2')],
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
    "The header fields that a script can send.",
    text("X-API-AUTH, Content-Type, If-Match"),
    true,
  ],
  "Access-Control-Max-Age": ["Seconds for which a browser can cache this response.", constant("86400"), true],
};

/** In every response, errors included. */
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

/** The names of the header fields of each kind of response, besides the common ones. `?` marks one that is not always there. */
export const headersOf = {
  list: ["ETag", "X-Total-Count", "Link", "Vary", "Content-Encoding", ...rates],
  feed: ["Vary", "Content-Encoding", ...rates],
  record: ["ETag", ...rates],
  created: ["ETag", "Location", "Idempotency-Replayed", ...rates],
  updated: ["ETag", "Idempotency-Replayed", ...rates],
  overridden: ["ETag?", "Idempotency-Replayed", ...rates],
  deleted: ["Idempotency-Replayed", ...rates],
  notModified: ["ETag", ...rates],
  options: ["Allow", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Max-Age"],
  problem: rates,
} as const;

/** The `headers` of a response with the header fields `names`. */
export function headerRefs(names: readonly string[]): Record<string, Schema> {
  return Object.fromEntries([...common, ...names].map(headerRef));
}

/** `components.headers`. */
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
