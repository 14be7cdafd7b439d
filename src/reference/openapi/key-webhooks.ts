// The webhooks of a key's site in a format (contract section 12).

import type { Format } from "../../formats/format.ts";
import { documentOf } from "../../model/encoding.ts";
import type { ErrorCode } from "../../model/errors.ts";
import { basePath, type Resource } from "../../model/resource.ts";
import { sentWebhook, shownDelivery, shownWebhook } from "../../resources/webhook.ts";
import { recordSchema, type Schema, type Schemas } from "../json-schema.ts";
import { commonProblems, contentOf, exampleJson, problemRefs, toExample } from "./bodies.ts";
import { headerRefs, headersOf, nameIn, type OpenapiOperation, parameterRefs, ref, tagOf } from "./components.ts";
import { headOperation, optionsOperation } from "./operations.ts";

export const keyWebhookTag = {
  plural: "webhook settings",
  description: "The webhooks of your site. Needs the right `webhooks:write`, which the operator has to give your key.",
} as const;

const names = { shown: "Webhook", created: "NewWebhook", changes: "WebhookChanges", delivery: "Delivery" } as const;

export function keyWebhookSchemas(base: string): Schemas {
  const groups: Schemas = {};
  return {
    [names.shown]: recordSchema(shownWebhook, "whole", groups, base),
    [names.created]: recordSchema(sentWebhook, "new", groups, base),
    [names.changes]: recordSchema(sentWebhook, "changes", groups, base),
    [names.delivery]: recordSchema(shownDelivery, "whole", groups, base),
  };
}

const actions = {
  pause: ["Pause a webhook", "Nothing is sent until it's resumed, and no changes are lost."],
  resume: ["Resume a webhook", "It continues at its cursor. Only an operator can resume what an operator has paused."],
  rotate: ["Rotate a secret", "Returns the new `Secret`. For 24 hours, events are also signed with the old one."],
  retry: ["Retry now", "Makes the next attempt of a failing webhook due."],
  test: ["Send a test", "Sends `storefront.test` once, and returns what happened."],
} as const;

export function keyWebhookPathsOf(format: Format): Record<string, Schema> {
  const path = `${basePath}webhooks`;
  const list = operation(
    format,
    "listWebhooks",
    "List webhooks",
    "All webhooks of the site.",
    listOf(format, shownWebhook),
  );
  const get = operation(format, "getWebhook", "Look up a webhook", "One webhook.", itemOf(format, shownWebhook), true);
  const deliveries = operation(
    format,
    "listDeliveries",
    "List deliveries",
    "The last 100 attempts to deliver an event, latest first.",
    listOf(format, shownDelivery),
    true,
  );
  const create = operation(
    format,
    "createWebhook",
    "Create a webhook",
    "Returns its `Secret`, which isn't shown again. The webhook sends changes to the resources that your key can read.",
    itemOf(format, shownWebhook),
  );
  const { 200: created, ...problems } = create.responses;
  const change = (verb: string, description: string) =>
    operation(
      format,
      `${verb}Webhook`,
      `Change a webhook's URL${verb === "patch" ? " (PATCH)" : ""}`,
      description,
      itemOf(format, shownWebhook),
      true,
    );
  const body = (name: string, omitted: readonly string[]) => ({
    requestBody: { required: true, content: contentOf(format, ref("schemas", name), exampleBody(format, omitted)) },
  });
  const entries = Object.entries(actions).map(([action, [summary, description]]): [string, Schema] => {
    const id = `${action}Webhook`;
    const item = itemOf(format, action === "test" ? shownDelivery : shownWebhook);
    const post = operation(format, id, summary, description, item, true);
    return [`${path}/{id}/${action}.${format.name}`, { post, options: options(format, id, true) }];
  });
  return {
    [`${path}.${format.name}`]: {
      get: list,
      head: headOperation(list),
      post: {
        ...create,
        ...body(names.created, [' ID="1"']),
        responses: { ...problems, 201: { ...created, headers: headerRefs(headersOf.createdWebhook) } } as never,
      },
      options: options(format, "Webhooks"),
    },
    [`${path}/{id}.${format.name}`]: {
      get,
      head: headOperation(get),
      put: { ...change("change", "The secret and the cursor stay."), ...body(names.changes, []) },
      patch: { ...change("patch", "The same as PUT."), ...body(names.changes, []), "x-secondary": true },
      delete: operation(
        format,
        "deleteWebhook",
        "Delete a webhook",
        "Returns it as it was.",
        itemOf(format, shownWebhook),
        true,
      ),
      options: options(format, "Webhook", true),
    },
    [`${path}/{id}/deliveries.${format.name}`]: {
      get: deliveries,
      head: { ...headOperation(deliveries), operationId: nameIn(format, "checkDeliveries") },
      options: options(format, "Deliveries", true),
    },
    ...Object.fromEntries(entries),
  };
}

const problems: readonly ErrorCode[] = [
  ...commonProblems,
  "invalid-record",
  "ambiguous-id",
  "not-found",
  "gone",
  "precondition-failed",
  "too-large",
  "unsupported-media-type",
];

function operation(
  format: Format,
  name: string,
  summary: string,
  description: string,
  content: Schema,
  hasId = false,
): OpenapiOperation {
  return {
    operationId: nameIn(format, name),
    summary,
    description,
    tags: [tagOf(keyWebhookTag, format)],
    ...(hasId ? { parameters: parameterRefs.preflightByPath } : {}),
    responses: {
      200: { description: `${summary}: done.`, headers: headerRefs(headersOf.key), content },
      ...problemRefs(problems, format),
    },
  };
}

function options(format: Format, name: string, hasId = false): Schema {
  return optionsOperation(keyWebhookTag, format, name, hasId ? { parameters: parameterRefs.preflightByPath } : {});
}

function schemaNameOf(resource: Resource): string {
  return resource === shownDelivery ? names.delivery : names.shown;
}

function itemOf(format: Format, resource: Resource): Schema {
  const example = toExample(format, documentOf(format, resource, exampleJson(resource)));
  return contentOf(format, ref("schemas", schemaNameOf(resource)), example);
}

function listOf(format: Format, resource: Resource): Schema {
  const xml = format.name === "xml" ? { xml: { name: "Results", wrapped: true } } : {};
  const schema = { type: "array", items: ref("schemas", schemaNameOf(resource)), ...xml };
  const text = format.listStart + format.item(resource, exampleJson(resource)) + format.listEnd;
  return contentOf(format, schema, toExample(format, text));
}

function exampleBody(format: Format, omitted: readonly string[]): unknown {
  const text = documentOf(format, sentWebhook, JSON.stringify({ ID: 1, URL: "https://erp.example/hooks/storefront" }));
  if (format.name === "json") return { URL: "https://erp.example/hooks/storefront" };
  return toExample(
    format,
    omitted.reduce((left, part) => left.replace(part, ""), text),
  );
}
