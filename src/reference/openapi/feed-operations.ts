// The operations of the feed in a format (contract section 10).

import type { FeedPosition, Format } from "../../formats/format.ts";
import type { Change } from "../../model/change.ts";
import { defaultFeedLimit, maxFeedWait, maxPageSize } from "../../model/list-bounds.ts";
import type { Resource } from "../../model/resource.ts";
import { pageSchemaName } from "../feed-schema.ts";
import type { Schema } from "../json-schema.ts";
import { contentOf, exampleJson, toExample } from "./bodies.ts";
import { nameIn, type OpenapiOperation, ref, tagOf } from "./components.ts";
import { headerRefs, headersOf } from "./headers.ts";
import { headOperation, optionsOperation } from "./operations.ts";
import { commonProblems, problemRefs } from "./problems.ts";

/** The name of the feed where resources have theirs. */
export const feedTag = {
  plural: "changes",
  description:
    "The changes of the website, in order and without gaps, deletes included: for programs that keep a copy up to date.",
} as const;

/** The path of the feed in `format`, with its operations. */
export function feedPathOf(resources: readonly Resource[], format: Format): Record<string, Schema> {
  const get = feedOperation(resources, format);
  const options = optionsOperation(feedTag, format, "Changes");
  return { [`/restapi/changes.${format.name}`]: { get, head: headOperation(get), options } };
}

/** `components.parameters` of the feed. */
export function feedParameters(resources: readonly Resource[]): Record<string, Schema> {
  return {
    FeedSince: {
      name: "since",
      in: "query",
      description:
        "The `Next` or `Cursor` of an earlier page: the changes after it. `now`: no changes, and the cursor of this moment. Default: from the first change.",
      schema: { type: "string" },
    },
    FeedLimit: {
      name: "limit",
      in: "query",
      description: "Maximum number of changes, after `resource` and before `collapse`.",
      schema: { type: "integer", minimum: 1, maximum: maxPageSize, default: defaultFeedLimit },
    },
    FeedWait: {
      name: "wait",
      in: "query",
      description:
        "Seconds to wait for the next change when there is nothing to return. The response comes with the change. HEAD does not wait.",
      schema: { type: "integer", minimum: 0, maximum: maxFeedWait, default: 0 },
    },
    FeedResource: {
      name: "resource",
      in: "query",
      description: "Only changes of these resources. Separate them by commas, or repeat the parameter. Default: all.",
      style: "form",
      explode: false,
      schema: { type: "array", minItems: 1, items: { type: "string", enum: resources.map(({ path }) => path) } },
    },
    FeedCollapse: {
      name: "collapse",
      in: "query",
      description: "`1`: of several changes to one record in a page, only the last.",
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
      "The changes after a cursor, in order. Store `Next` with them, and send it as `since` to go on. A cursor from which this is not possible any more is 410, and the problem says how to start again.",
    tags: [tagOf(feedTag, format)],
    parameters,
    responses: {
      200: {
        description: "A page of changes. It may have none.",
        headers: headerRefs(headersOf.feed),
        content: contentOf(format, ref("schemas", pageSchemaName), toExample(format, examplePage(resources, format))),
      },
      ...problemRefs([...commonProblems, "gone"], format),
    },
  };
}

/** A page in which a record is created and deleted. */
function examplePage([resource]: readonly Resource[], { feed }: Format): string {
  if (!resource) return "";
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
  const page: FeedPosition = { next: "8d41f7a0c35e.19", isMore: false };
  const created = feed.item(resource, "1f0c63d9a2be.18", change);
  const deleted = feed.item(resource, page.next, { ...change, revision: 19, operation: "delete" });
  return feed.start(page) + created + feed.separator + deleted + feed.end(page);
}
