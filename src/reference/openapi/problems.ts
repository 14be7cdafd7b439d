// The answers that say no: a component per status and format, with an example of each problem that has the status.

import { type Code, refusals } from "../../model/errors.ts";
import type { Schema } from "../json-schema.ts";
import { shownExample } from "./examples.ts";
import { headerRefs, headersOf } from "./headers.ts";
import { type Interface, named, type ProblemExample, ref, type WireFormat } from "./interface.ts";

const codes = Object.keys(refusals) as Code[];

/** What the `detail` of each may say. */
const details: Record<Code, string> = {
  "bad-request": "`limit` must be a whole number from 1 to 1000, not `0`",
  "invalid-record": "`name`: no such field; did you mean `Name`? (and 1 more)",
  "ambiguous-id":
    'which record? Name it by its ID in the path (`/restapi/brands/12.json`), in the body (`{"ID": 12, ...}`) or in the query (`/restapi/brands.json?ID=12`).',
  unauthorized:
    "send a valid API key of this website in the header X-API-AUTH: the bare key (`sfk_...`), without `Bearer` or quotes",
  forbidden: "the API key may only read: it lacks the scope `write`",
  "not-found": "there is no brand with the ID 12",
  "method-not-allowed": "locations can only be read",
  "request-timeout": "of the 20 bytes that Content-Length announces, 16 came in time",
  conflict: "a request with this Idempotency-Key is still running",
  "precondition-failed": "the brand 12 has changed since; read it again",
  "too-large": "the body has more than 1048576 bytes",
  "head-too-large": "the request line and the header section have more than 16384 bytes together",
  "unsupported-media-type": "the charset `latin1` is not supported; send UTF-8",
  "wrong-site": "no website has the host `other.example`",
  "idempotency-key-reused": "the Idempotency-Key was used for another request; use a new one for each",
  "too-many-requests": "the API key may make 50 requests per second",
  "not-implemented": "there is no method `FETCH`; methods are case-sensitive",
  internal: "the server's log has the details of the request k3J9aZ0q1",
  unavailable: "the storage does not respond; send the request again, a write with the same Idempotency-Key",
};

const faults = [
  { field: "name", detail: "no such field; did you mean `Name`?" },
  { field: "Name", detail: "is required" },
];

/** Headers that a problem carries besides the usual ones. */
const extraHeaders: Partial<Record<Code, readonly string[]>> = {
  unauthorized: ["WWW-Authenticate"],
  "method-not-allowed": ["Allow"],
  conflict: ["Retry-After"],
  "too-many-requests": ["Retry-After"],
  unavailable: ["Retry-After"],
};

/** What may happen to any request with a key. */
export const always: readonly Code[] = [
  "bad-request",
  "unauthorized",
  "forbidden",
  "wrong-site",
  "too-many-requests",
  "head-too-large",
  "request-timeout",
  "internal",
  "unavailable",
];

/** The `responses` of these problems, by status, for an operation in `format`. */
export function problemRefs(wanted: readonly Code[], format: WireFormat, { statusOf }: Interface) {
  const sorted = [...wanted].sort((a, b) => statusOf(a) - statusOf(b));
  return Object.fromEntries(
    sorted.map((code) => [statusOf(code), ref("responses", responseName(code, format, statusOf))]),
  );
}

/** No operation responds with it: the method of an operation is known. */
const withoutOperation: Code = "not-implemented";

/** `components.responses`. */
export function problemResponses(api: Interface): Record<string, Schema> {
  const responses: Record<string, Schema> = {};
  for (const format of api.formats) {
    for (const code of codes) {
      if (code !== withoutOperation)
        responses[responseName(code, format, api.statusOf)] ??= response(code, format, api);
    }
  }
  return responses;
}

/** The schema of a problem (RFC 9457 section 3), and of one fault in it. */
export const problemSchemas: Record<string, Schema> = {
  Problem: {
    title: "Problem",
    description: "Why the request was refused (RFC 9457).",
    type: "object",
    required: ["type", "title", "status", "detail", "instance"],
    properties: {
      type: {
        type: "string",
        format: "uri-reference",
        description: "The kind of problem, and the page about it.",
        enum: codes.map((code) => `/docs/problems/${code}`),
      },
      title: { type: "string", description: "The kind of problem in words.", examples: [refusals["bad-request"]] },
      status: { type: "integer", description: "The status code again.", minimum: 400, maximum: 599, examples: [400] },
      detail: { type: "string", description: "What was wrong with this request.", examples: [details["bad-request"]] },
      instance: {
        type: "string",
        format: "uri-reference",
        description: "The request's id, as in `X-Request-Id`.",
        examples: ["k3J9aZ0q1"],
      },
      errors: {
        type: "array",
        description: "Every fault of a rejected record, at most 100; or where a body cannot be parsed.",
        items: { $ref: "#/components/schemas/Fault" },
        xml: { wrapped: true },
      },
    },
    xml: { name: "problem", namespace: "urn:ietf:rfc:7807" },
  },
  Fault: {
    title: "Fault",
    description: "One fault of a rejected record or body.",
    type: "object",
    required: ["field", "detail"],
    properties: {
      field: {
        type: "string",
        description: "The field, as a dotted path; empty for the whole record.",
        examples: ["Address.Town"],
      },
      detail: { type: "string", description: "What is wrong with it.", examples: ["must be a string, not a number"] },
      line: { type: "integer", minimum: 1, description: "Line of the body, when it cannot be parsed.", examples: [3] },
      column: { type: "integer", minimum: 1, description: "Character of that line, from 1.", examples: [14] },
    },
    xml: { name: "i" },
  },
};

/** Problems of one status share a response, which has the name of the first of them. */
function responseName(code: Code, format: WireFormat, statusOf: Interface["statusOf"]): string {
  const first = codes.find((other) => statusOf(other) === statusOf(code)) as Code;
  return named(
    first.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    format,
  );
}

function response(code: Code, format: WireFormat, { statusOf }: Interface): Schema {
  const same = codes.filter((other) => statusOf(other) === statusOf(code));
  const examples = same.map((one) => {
    const value = shownExample(format, format.problem(example(one, statusOf(one))));
    return [one, { summary: refusals[one], value }];
  });
  return {
    description: same.map((one) => `[${refusals[one]}](/docs/problems/${one}).`).join(" "),
    headers: headerRefs([...(extraHeaders[code] ?? []), ...headersOf.problem]),
    content: {
      [format.problemType]: { schema: ref("schemas", "Problem"), examples: Object.fromEntries(examples) },
    },
  };
}

function example(code: Code, status: number): ProblemExample {
  return {
    type: `/docs/problems/${code}`,
    title: refusals[code],
    status,
    detail: details[code],
    instance: "k3J9aZ0q1",
    ...(code === "invalid-record" ? { errors: faults } : {}),
  };
}
