// The operations of a resource and of the feed, in a format.

import type { FeedPosition, Format } from "../../formats/format.ts";
import type { Change } from "../../model/change.ts";
import type { ErrorCode } from "../../model/errors.ts";
import { defaultFeedLimit, maxFeedWaitSeconds, maxPageSize } from "../../model/limits.ts";
import type { Resource } from "../../model/resource.ts";
import { basePath } from "../../model/resource.ts";
import { pageSchemaName, type Schema } from "../json-schema.ts";
import { exampleKey, keySchemaName } from "../key-schema.ts";
import {
  commonProblems,
  contentOf,
  exampleChanges,
  exampleId,
  exampleJson,
  exampleNew,
  listResponse,
  notModifiedResponse,
  problemRefs,
  recordResponse,
  requestBody,
  toExample,
} from "./bodies.ts";
import {
  capitalize,
  headerRefs,
  headersOf,
  identifierOf,
  nameIn,
  type OpenapiOperation,
  parameterRefs,
  ref,
  type Tagged,
  tagOf,
  withArticle,
} from "./components.ts";

export function pathsOf(resource: Resource, format: Format): Record<string, Schema> {
  const isWritten = resource.access === "written";
  const list = listOperation(resource, format);
  const get = getOperation(resource, format);
  return {
    [`${basePath}${resource.path}.${format.name}`]: {
      get: list,
      head: headOperation(list),
      ...(isWritten
        ? { post: createOperation(resource, format), ...changeOperations(resource, format, "ByBody") }
        : {}),
      options: optionsOperation(resource, format, identifierOf(resource.plural)),
    },
    [`${basePath}${resource.path}/{id}.${format.name}`]: {
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
    description: `All of the site's ${plural}, in ID order. Filter, sort and page with query parameters.`,
    tags: [tagOf(resource, format)],
    parameters: parameterRefs.list(resource),
    responses: {
      200: listResponse(
        resource,
        format,
        `The ${plural}. With \`fields\`, each record has just its ID and those fields.`,
      ),
      304: notModifiedResponse(["Vary", "X-Total-Count", "Link"]),
      ...problemRefs([...commonProblems, "precondition-failed"], format),
    },
  };
}

function getOperation(resource: Resource, format: Format): OpenapiOperation {
  const { singular, element } = resource;
  return {
    operationId: nameIn(format, `get${element}`),
    summary: `Look up ${withArticle(singular)}`,
    description: "Returns one record by its ID.",
    tags: [tagOf(resource, format)],
    parameters: parameterRefs.lookUp,
    responses: {
      200: recordResponse(resource, format, `The ${singular}.`, headersOf.record),
      304: notModifiedResponse([]),
      ...problemRefs([...commonProblems, "not-found", "precondition-failed"], format),
    },
  };
}

/** Derives HEAD from GET. The reference page doesn't show it. */
export function headOperation(get: OpenapiOperation): OpenapiOperation {
  const { content: _, ...ok } = get.responses[200];
  return {
    ...get,
    operationId: get.operationId.replace(/^(?:list|get)/, "check"),
    summary: `${get.summary}: headers only`,
    description: "The same response as GET, without the body.",
    responses: { ...get.responses, 200: ok },
    "x-secondary": true,
  };
}

/** @param parameters the member `parameters`, if the path has any */
export function optionsOperation(resource: Tagged, format: Format, name: string, parameters: Schema = {}): Schema {
  return {
    operationId: nameIn(format, `options${name}`),
    summary: "List the methods",
    description: "The methods the path supports, for browsers' preflight requests. Needs no API key.",
    tags: [tagOf(resource, format)],
    security: [],
    ...parameters,
    responses: {
      204: { description: "The methods the path supports.", headers: headerRefs(headersOf.options) },
      ...problemRefs(["bad-request", "site-suspended", "wrong-site", "internal", "unavailable"], format),
    },
    "x-secondary": true,
  };
}

// The document about the key that a request sends (contract section 1).

export const keyTag = {
  plural: "your key",
  description:
    "Which site your API key belongs to, and what it may do. Start here: it changes nothing, and any key may do it.",
} as const;

export function keyPathOf(format: Format): Record<string, Schema> {
  const get: OpenapiOperation = {
    operationId: nameIn(format, "getKey"),
    summary: "Who am I?",
    description: "Returns what the API key you send is for, what it may do, and how many requests are left.",
    tags: [tagOf(keyTag, format)],
    responses: {
      200: {
        description: "Your key.",
        headers: headerRefs(headersOf.key),
        content: contentOf(
          format,
          ref("schemas", keySchemaName),
          toExample(format, format.document("Key", { ...exampleKey })),
        ),
      },
      ...problemRefs([...commonProblems, "precondition-failed"], format),
    },
  };
  return {
    [`${basePath}key.${format.name}`]: {
      get,
      head: headOperation(get),
      options: optionsOperation(keyTag, format, "Key"),
    },
  };
}

// The operations of the feed in a format (contract section 10).

export const feedTag = {
  plural: "changes",
  description:
    "Every change to the site, including deletes, in order and without gaps. Use it to keep a copy up to date.",
} as const;

export function feedPathOf(resources: readonly Resource[], format: Format): Record<string, Schema> {
  const get = feedOperation(resources, format);
  const options = optionsOperation(feedTag, format, "Changes");
  return { [`${basePath}changes.${format.name}`]: { get, head: headOperation(get), options } };
}

export function feedParameters(resources: readonly Resource[]): Record<string, Schema> {
  return {
    FeedSince: {
      name: "since",
      in: "query",
      description:
        "A `Next` or `Cursor` from an earlier page, to get the changes after it. `now` returns only the current cursor. Default: start with the first change.",
      schema: { type: "string" },
    },
    FeedLimit: {
      name: "limit",
      in: "query",
      description: "Maximum number of changes, counted after `resource` and before `collapse` is applied.",
      schema: { type: "integer", minimum: 1, maximum: maxPageSize, default: defaultFeedLimit },
    },
    FeedWait: {
      name: "wait",
      in: "query",
      description: "If there's nothing to return yet, how many seconds to wait for the next change. HEAD doesn't wait.",
      schema: { type: "integer", minimum: 0, maximum: maxFeedWaitSeconds, default: 0 },
    },
    FeedResource: {
      name: "resource",
      in: "query",
      description: "Only changes to these resources. Separate them with commas, or repeat the parameter. Default: all.",
      style: "form",
      explode: false,
      schema: { type: "array", minItems: 1, items: { type: "string", enum: resources.map(({ path }) => path) } },
    },
    FeedCollapse: {
      name: "collapse",
      in: "query",
      description: "`1`: if a page has several changes to a record, return only the last.",
      schema: { type: "string", enum: ["1"] },
    },
  };
}

const parameters = ["FeedSince", "FeedLimit", "FeedWait", "FeedResource", "FeedCollapse"].map((name) =>
  ref("parameters", name),
);

function feedOperation(resources: readonly Resource[], format: Format): OpenapiOperation {
  return {
    operationId: nameIn(format, "listChanges"),
    summary: "Follow changes",
    description:
      "The changes after a cursor, in order. Store `Next` along with them, and send it as `since` to continue. Unusable cursors return 410 with resync steps.",
    tags: [tagOf(feedTag, format)],
    parameters,
    responses: {
      200: {
        description: "A page of changes, which may be empty.",
        headers: headerRefs(headersOf.feed),
        content: contentOf(format, ref("schemas", pageSchemaName), toExample(format, examplePage(resources, format))),
      },
      ...problemRefs([...commonProblems, "gone", "precondition-failed"], format),
    },
  };
}

/** The page whose changes `exampleItems` returns. */
export const examplePosition: FeedPosition = { next: "8d41f7a0c35e.19", hasMore: false };

/** A feed page's items, in which a record is created and deleted. */
export function exampleItems([resource]: readonly Resource[], { feed }: Format): string[] {
  if (!resource) return [];
  const body = exampleJson(resource);
  const change: Change = {
    revision: 18,
    at: Date.UTC(2026, 10, 21, 20, 15, 0, 123),
    actor: "",
    resource: resource.name,
    id: 1,
    operation: "create",
    body,
  };
  const epoch = "k3f9a1Zq";
  const last: Change = { ...change, revision: 19, operation: "delete" };
  return [
    feed.item(resource, { cursor: "1f0c63d9a2be.18", epoch, change }),
    feed.item(resource, { cursor: examplePosition.next, epoch, change: last }),
  ];
}

function examplePage(resources: readonly Resource[], format: Format): string {
  const { feed } = format;
  const items = exampleItems(resources, format).join(feed.separator);
  return feed.start(examplePosition) + items + feed.end(examplePosition);
}

// The operations that write a resource in a format.

/** Where a write has its record's ID: in the path, or in the body or query. */
type Naming = "" | "ByBody";

const writeProblems: readonly ErrorCode[] = [
  "invalid-record",
  "ambiguous-id",
  "not-found",
  "precondition-failed",
  "too-large",
  "unsupported-media-type",
  "conflict",
  "idempotency-key-reused",
];

function createOperation(resource: Resource, format: Format): OpenapiOperation {
  const { singular, element } = resource;
  const overridden = "With `X-HTTP-Method-Override`, the response to that method.";
  return {
    operationId: nameIn(format, `create${element}`),
    summary: `Create ${withArticle(singular)}`,
    description: "The server assigns the ID. Fields you leave out are stored empty.",
    tags: [tagOf(resource, format)],
    parameters: parameterRefs.create,
    requestBody: requestBody(resource, format, "new", exampleNew(resource, format)),
    responses: {
      200: recordResponse(resource, format, overridden, headersOf.overridden),
      201: recordResponse(resource, format, `The new ${singular}, with its ID.`, headersOf.created),
      ...problemRefs([...commonProblems, ...writeProblems], format),
    },
  };
}

function overrideOperation(resource: Resource, format: Format): OpenapiOperation {
  const { singular, element } = resource;
  return {
    operationId: nameIn(format, `override${element}`),
    summary: `Update or delete ${withArticle(singular)} by POST`,
    description:
      "For clients behind a proxy that only lets GET and POST through. Without `X-HTTP-Method-Override`, you get a 405; to create a record, POST to the path without an ID.",
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

/** Returns PUT, PATCH and DELETE. */
function changeOperations(resource: Resource, format: Format, naming: Naming): Record<string, OpenapiOperation> {
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
    summary: `${capitalize(verb)} ${withArticle(singular)}${summaryEnds[naming]}`,
    description: `PUT and PATCH are the same here: both change only the fields in the body. ${namingTexts[naming]}`,
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

/** The reference page shows operations with the ID in the path first, and the others at the end. */
const secondary: Record<Naming, Schema> = { "": {}, ByBody: { "x-secondary": true } };

const summaryEnds: Record<Naming, string> = { "": "", ByBody: ", with the ID in the body" };

const namingTexts: Record<Naming, string> = {
  "": "The path says which record. If the body has an `ID` too, it must be the same.",
  ByBody: "The `ID` in the body or `?ID=` says which record. Without one, nothing changes and you get a 400.",
};
