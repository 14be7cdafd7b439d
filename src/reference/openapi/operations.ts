// The operations of a resource in a format.

import type { Format } from "../../formats/format.ts";
import type { Resource } from "../../model/resource.ts";
import type { Schema } from "../json-schema.ts";
import { listResponse, notModifiedResponse, recordResponse } from "./bodies.ts";
import { identifierOf, nameIn, type OpenapiOperation, type Tagged, tagOf, withArticle } from "./components.ts";
import { headerRefs, headersOf } from "./headers.ts";
import { parameterRefs } from "./parameters.ts";
import { commonProblems, problemRefs } from "./problems.ts";
import { changeOperations, createOperation, overrideOperation } from "./write-operations.ts";

/** The paths of `resource` in `format`, with their operations. */
export function pathsOf(resource: Resource, format: Format): Record<string, Schema> {
  const isWritten = resource.access === "written";
  const list = listOperation(resource, format);
  const get = getOperation(resource, format);
  return {
    [`/restapi/${resource.path}.${format.name}`]: {
      get: list,
      head: headOperation(list),
      ...(isWritten
        ? { post: createOperation(resource, format), ...changeOperations(resource, format, "ByBody") }
        : {}),
      options: optionsOperation(resource, format, identifierOf(resource.plural)),
    },
    [`/restapi/${resource.path}/{id}.${format.name}`]: {
      get,
      head: headOperation(get),
      ...(isWritten ? { post: overrideOperation(resource, format), ...changeOperations(resource, format, "") } : {}),
      options: optionsOperation(resource, format, resource.element, { parameters: parameterRefs.preflightByPath }),
    },
  };
}

function listOperation(resource: Resource, format: Format): OpenapiOperation {
  const { plural } = resource;
  return {
    operationId: nameIn(format, `list${identifierOf(plural)}`),
    summary: `List ${plural}`,
    description: `All ${plural} of the website, in ID order. The parameters select and sort.`,
    tags: [tagOf(resource, format)],
    parameters: parameterRefs.list(resource),
    responses: {
      200: listResponse(
        resource,
        format,
        `The ${plural}. With \`fields\`, each record has only its ID and the selected fields.`,
      ),
      304: notModifiedResponse(["Vary", "X-Total-Count", "Link"]),
      ...problemRefs(commonProblems, format),
    },
  };
}

function getOperation(resource: Resource, format: Format): OpenapiOperation {
  const { singular, element } = resource;
  return {
    operationId: nameIn(format, `get${element}`),
    summary: `Look up ${withArticle(singular)}`,
    description: "One record by its ID.",
    tags: [tagOf(resource, format)],
    parameters: parameterRefs.lookUp,
    responses: {
      200: recordResponse(resource, format, `The ${singular}.`, headersOf.record),
      304: notModifiedResponse([]),
      ...problemRefs([...commonProblems, "not-found"], format),
    },
  };
}

/** HEAD of a path, from its GET. Readers of the reference do not need it. */
export function headOperation(get: OpenapiOperation): OpenapiOperation {
  const { content: _, ...ok } = get.responses[200];
  return {
    ...get,
    operationId: get.operationId.replace(/^(?:list|get)/, "check"),
    summary: `${get.summary}: header fields only`,
    description: "The same response as for GET, without its body.",
    responses: { ...get.responses, 200: ok },
    "x-secondary": true,
  };
}

export function optionsOperation(resource: Tagged, format: Format, name: string, parameters: Schema = {}): Schema {
  return {
    operationId: nameIn(format, `options${name}`),
    summary: "List the methods",
    description: "The methods of the path, for the preflight request of a browser. Needs no API key.",
    tags: [tagOf(resource, format)],
    security: [],
    ...parameters,
    responses: {
      204: { description: "The methods of the path.", headers: headerRefs(headersOf.options) },
      ...problemRefs(["bad-request", "site-suspended", "wrong-site", "internal", "unavailable"], format),
    },
    "x-secondary": true,
  };
}
