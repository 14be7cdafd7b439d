// The operations that write a resource in a format.

import type { Format } from "../../formats/format.ts";
import type { Code } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import type { Schema } from "../json-schema.ts";
import { exampleChanges, exampleId, exampleNew, recordResponse, requestBody } from "./bodies.ts";
import { capitalized, nameIn, type OpenapiOperation, tagOf, withArticle } from "./components.ts";
import { headersOf } from "./headers.ts";
import { parameterRefs } from "./parameters.ts";
import { commonProblems, problemRefs } from "./problems.ts";

/** How a write names its record: by the path, or by the body or the query. */
type Naming = "" | "ByBody";

const writeProblems: readonly Code[] = [
  "invalid-record",
  "ambiguous-id",
  "not-found",
  "precondition-failed",
  "too-large",
  "unsupported-media-type",
  "conflict",
  "idempotency-key-reused",
];

export function createOperation(resource: Resource, format: Format): OpenapiOperation {
  const { singular, element } = resource;
  const overridden = "With `X-HTTP-Method-Override`: the response to that method.";
  return {
    operationId: nameIn(format, `create${element}`),
    summary: `Create ${withArticle(singular)}`,
    description: "The server assigns the ID. Missing fields are stored empty.",
    tags: [tagOf(resource, format)],
    parameters: parameterRefs.create,
    requestBody: requestBody(resource, format, "new", exampleNew(resource, format)),
    responses: {
      200: recordResponse(resource, format, overridden, headersOf.overridden),
      201: recordResponse(resource, format, `The new ${singular} with its ID.`, headersOf.created),
      ...problemRefs([...commonProblems, ...writeProblems], format),
    },
  };
}

export function overrideOperation(resource: Resource, format: Format): OpenapiOperation {
  const { singular, element } = resource;
  return {
    operationId: nameIn(format, `override${element}`),
    summary: `Update or delete ${withArticle(singular)} by POST`,
    description:
      "For clients behind a proxy that lets only GET and POST through. Without `X-HTTP-Method-Override`, the response is 405: to create a record, send POST to the path without an ID.",
    tags: [tagOf(resource, format)],
    "x-secondary": true,
    parameters: parameterRefs.override,
    requestBody: requestBody(resource, format, "changes", exampleChanges(resource, format), false),
    responses: {
      200: recordResponse(
        resource,
        format,
        "The response to the method in `X-HTTP-Method-Override`.",
        headersOf.overridden,
      ),
      ...problemRefs([...commonProblems, ...writeProblems, "method-not-allowed"], format),
    },
  };
}

/** PUT, PATCH and DELETE. */
export function changeOperations(resource: Resource, format: Format, naming: Naming): Record<string, OpenapiOperation> {
  return {
    put: updateOperation(resource, format, "update", naming),
    patch: updateOperation(resource, format, "patch", naming),
    delete: deleteOperation(resource, format, naming),
  };
}

function updateOperation(
  resource: Resource,
  format: Format,
  verb: "update" | "patch",
  naming: Naming,
): OpenapiOperation {
  const { singular, element } = resource;
  return {
    operationId: nameIn(format, `${verb}${element}${naming}`),
    summary: `${capitalized(verb)} ${withArticle(singular)}${summaryEnds[naming]}`,
    description: `PUT and PATCH do the same: they change the fields that the body contains. ${namingTexts[naming]}`,
    tags: [tagOf(resource, format)],
    ...secondary[naming],
    parameters: parameterRefs[naming === "" ? "changeByPath" : "changeByBody"],
    requestBody: requestBody(resource, format, "changes", exampleChanges(resource, format)),
    responses: {
      200: recordResponse(resource, format, `The updated ${singular}.`, headersOf.updated),
      ...problemRefs([...commonProblems, ...writeProblems], format),
    },
  };
}

function deleteOperation(resource: Resource, format: Format, naming: Naming): OpenapiOperation {
  const { singular, element } = resource;
  const body = { requestBody: requestBody(resource, format, "changes", exampleId(resource, format), false) };
  return {
    operationId: nameIn(format, `delete${element}${naming}`),
    summary: `Delete ${withArticle(singular)}${summaryEnds[naming]}`,
    description: namingTexts[naming],
    tags: [tagOf(resource, format)],
    ...secondary[naming],
    parameters: parameterRefs[naming === "" ? "changeByPath" : "changeByBody"],
    ...(naming === "" ? {} : body),
    responses: {
      200: recordResponse(resource, format, `The deleted ${singular}.`, headersOf.deleted),
      ...problemRefs([...commonProblems, ...writeProblems], format),
    },
  };
}

/** The reference shows the operations that name their record in the path first. */
const secondary: Record<Naming, Schema> = { "": {}, ByBody: { "x-secondary": true } };

const summaryEnds: Record<Naming, string> = { "": "", ByBody: ", named in the body" };

const namingTexts: Record<Naming, string> = {
  "": "The path names the record. An `ID` in the body must be the same.",
  ByBody: "The `ID` in the body, or `?ID=`, names the record. Without an ID, nothing changes and the response is 400.",
};
