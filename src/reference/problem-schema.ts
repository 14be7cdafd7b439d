// JSON Schema of a problem document (RFC 9457 section 3), and of a field error in it.

import { type ErrorCode, type FaultParameters, faultCodes, problemTitles } from "../model/errors.ts";
import { maxBatchOperations } from "../model/limits.ts";
import type { Schema, Schemas } from "./json-schema.ts";

const codes = Object.keys(problemTitles) as ErrorCode[];

/** Returns the schemas by name. @param base the prefix of references in them */
export function problemSchemas(base: string): Schemas {
  const errors = { ...errorsSchema, items: { $ref: `${base}Fault` } };
  return { Problem: { ...problem, properties: { ...problemMembers, errors } }, Fault: fault };
}

const problem: Schema = {
  title: "Problem",
  description: "A problem document (RFC 9457): why the server refused the request.",
  type: "object",
  required: ["type", "title", "status", "detail", "instance"],
  xml: { name: "problem", namespace: "urn:ietf:rfc:7807" },
};

const problemMembers: Schemas = {
  type: {
    type: "string",
    format: "uri-reference",
    description: "The problem type, which is also the path of the page about it.",
    enum: codes.map((code) => `/docs/problems/${code}`),
  },
  title: { type: "string", description: "The problem type in words.", examples: [problemTitles["bad-request"]] },
  status: {
    type: "integer",
    description: "The status code of the response.",
    minimum: 400,
    maximum: 599,
    examples: [400],
  },
  detail: {
    type: "string",
    description: "What's wrong with this request.",
    examples: ["`limit` must be a whole number from 1 to 1000, not `0`"],
  },
  instance: {
    type: "string",
    format: "uri-reference",
    description: "The ID of the request, as in `X-Request-Id`.",
    examples: ["k3J9aZ0q1"],
  },
  contact: {
    type: "string",
    format: "uri",
    description: "How to reach the operator. Only in a 401, 403 or 5xx, if the operator has set it.",
    examples: ["mailto:support@shop.example"],
  },
};

const errorsSchema: Schema = {
  type: "array",
  description:
    "All errors in a rejected record (at most 100), or the position of the error in a body that can't be parsed. For a batch request, the errors of all its operations.",
  xml: { wrapped: true },
};

/** The parameters of fault codes. */
export const faultParameterSchemas: Record<keyof FaultParameters, Schema> = {
  min: { type: "integer", description: "The smallest number.", examples: [1] },
  max: { type: "integer", description: "The largest number, or the most characters or items.", examples: [128] },
  expected: { type: "string", description: "The type to send.", examples: ["string"] },
  choices: {
    type: "array",
    items: { type: "string" },
    description: "The values to choose from.",
    examples: [["POST", "PUT", "PATCH", "DELETE"]],
    xml: { wrapped: true },
  },
  pattern: { type: "string", description: "The regular expression to match (ECMA-262).", examples: ["^[a-z-]*$"] },
  count: { type: "integer", description: "How many records have the value.", examples: [2] },
  suggestion: { type: "string", description: "What was probably meant, if that's certain.", examples: ["DE"] },
};

const fault: Schema = {
  title: "Fault",
  description: "One error in a rejected record or body.",
  type: "object",
  required: ["field", "code", "detail"],
  properties: {
    operation: {
      type: "integer",
      minimum: 1,
      maximum: maxBatchOperations,
      description: "The operation's number in its batch request, starting at 1.",
      examples: [3],
    },
    field: {
      type: "string",
      description: "The dotted path of the field. Empty for the whole record.",
      examples: ["Address.Town"],
    },
    code: {
      type: "string",
      description: `What's wrong, for programs: ${Object.keys(faultCodes).join(", ")}, or the problem type of an operation. New codes can be added, so fall back to \`detail\`.`,
      examples: ["too-long"],
    },
    detail: {
      type: "string",
      description: "What's wrong and what to do, for people. The wording can change.",
      examples: ["use 128 characters or fewer (this has 207)"],
    },
    line: {
      type: "integer",
      minimum: 1,
      description: "The line in the body, starting at 1, if it can't be parsed.",
      examples: [3],
    },
    column: { type: "integer", minimum: 1, description: "The character in that line, starting at 1.", examples: [14] },
    ...faultParameterSchemas,
  },
  xml: { name: "i" },
};
