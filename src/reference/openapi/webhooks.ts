// The webhooks in the document: the requests that the server sends to receivers, and the responses that it expects (contract section 12).

import { json } from "../../formats/json.ts";
import { maxChangesPerEvent } from "../../model/limits.ts";
import type { Resource } from "../../model/resource.ts";
import { anyChangeName, type Schema, type Schemas } from "../json-schema.ts";
import { contentOf } from "./bodies.ts";
import { ref } from "./components.ts";
import { exampleItems, examplePosition } from "./operations.ts";

export const webhookTag = {
  name: "Webhooks",
  description:
    "The changes of the site, sent to a URL of yours. The operator adds the webhook, and gives you the secret for the signatures.",
} as const;

/** An event that the server sends. */
interface WebhookEvent {
  /** The value of `type`. */
  readonly type: string;
  readonly schemaName: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  /** The description of `timestamp`. */
  readonly timestamp: string;
  /** The members of `data`, all of them required. */
  readonly members: readonly DataMember[];
  /** The response that stands for every status that the document does not list, and for no response. */
  readonly otherResponse: Schema;
}

type DataMember = "Site" | "Since" | "Changes" | "Next";

const sentAgain: Schema = {
  description:
    "Any other status, or no response within 15 seconds: the server sends the same event again, first after 5 seconds, later every 5 hours. After five days in which every attempt failed, it pauses the webhook. Redirects are not followed.",
  headers: {
    "Retry-After": {
      description: "When to send the event again: seconds from 5 to 18000, or a date.",
      schema: { type: "string", examples: ["120"] },
    },
  },
};

const events: readonly WebhookEvent[] = [
  {
    type: "storefront.changes",
    schemaName: "ChangesEvent",
    operationId: "receiveChanges",
    summary: "Receive changes",
    description:
      "Records have changed. Store each record, whether it was created or updated, and remove the deleted ones. Ignore a change whose `Revision` is not higher than the one that you have of its record. If `Since` is not the `Next` of your last event, an event is missing: read the lists again.",
    timestamp: "When the last of these changes happened, in UTC.",
    members: ["Site", "Since", "Changes", "Next"],
    otherResponse: sentAgain,
  },
  {
    type: "storefront.gone",
    schemaName: "GoneEvent",
    operationId: "receiveGone",
    summary: "Learn that changes are missing",
    description:
      "Some changes cannot be sent any more, for example because a backup was restored. Read the lists again. Later changes are sent as usual.",
    timestamp: "When the server noticed it, in UTC.",
    members: ["Site", "Since", "Next"],
    otherResponse: sentAgain,
  },
  {
    type: "storefront.test",
    schemaName: "TestEvent",
    operationId: "receiveTest",
    summary: "Receive a test",
    description: "The operator tests the webhook. Nothing has changed.",
    timestamp: "When the event was sent, in UTC.",
    members: ["Site", "Next"],
    otherResponse: { description: "The operator sees the status. The event is not sent again." },
  },
];

/** Returns the webhooks, by the `type` of their events. */
export function webhooksOf(resources: readonly Resource[]): Record<string, Schema> {
  return Object.fromEntries(events.map((event) => [event.type, { post: toOperation(event, resources) }]));
}

function toOperation(event: WebhookEvent, resources: readonly Resource[]): Schema {
  const { operationId, summary, description, schemaName, otherResponse } = event;
  return {
    operationId,
    summary,
    description,
    tags: [webhookTag.name],
    security: [],
    parameters: Object.keys(webhookParameters).map((name) => ref("parameters", name)),
    requestBody: {
      required: true,
      content: contentOf(json, ref("schemas", schemaName), exampleOf(event, resources)),
    },
    responses: {
      "2XX": { description: "You have the event. The server sends the next one. It does not read the body." },
      ...(otherResponse === sentAgain ? { 410: pausing } : {}),
      default: otherResponse,
    },
  };
}

const pausing: Schema = {
  description: "You want no more events. The server pauses the webhook until the operator resumes it.",
};

/** The header fields of a delivery (Standard Webhooks 1.0), for `components.parameters`. */
export const webhookParameters: Readonly<Record<string, Schema>> = {
  WebhookId: {
    name: "webhook-id",
    in: "header",
    required: true,
    description: "The ID of the event. Each attempt to deliver the event has the same ID and the same body.",
    schema: { type: "string" },
    example: "evt_3_k3f9a1_18_19_8d41f7a0c35e",
  },
  WebhookTimestamp: {
    name: "webhook-timestamp",
    in: "header",
    required: true,
    description:
      "When this attempt was made, in seconds since 1970. Reject a time that is more than five minutes away.",
    schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    example: 1795292100,
  },
  WebhookSignature: {
    name: "webhook-signature",
    in: "header",
    required: true,
    description:
      "The signatures, separated by spaces: one for each valid secret. [Verify one of them](/docs/webhooks#verify-the-signature) before you read the body.",
    schema: { type: "string", pattern: "^v1,[A-Za-z0-9+/]{43}=(?: v1,[A-Za-z0-9+/]{43}=)*$" },
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  },
};

/** The schemas of the events, for `components.schemas`. */
export function webhookSchemas(): Schemas {
  return Object.fromEntries(events.map((event) => [event.schemaName, eventSchema(event)]));
}

function eventSchema({ type, summary, description, timestamp, members }: WebhookEvent): Schema {
  return {
    title: summary,
    description,
    type: "object",
    required: ["type", "timestamp", "data"],
    properties: {
      type: { type: "string", const: type, description: "The kind of event. There can be other kinds in future." },
      timestamp: { type: "string", format: "date-time", description: timestamp },
      data: {
        type: "object",
        required: members,
        properties: Object.fromEntries(members.map((name) => [name, dataSchemas[name]])),
      },
    },
  };
}

const exampleSince = "5f1c0a9be27d.17";

const dataSchemas: Readonly<Record<DataMember, Schema>> = {
  Site: { type: "string", description: "The name of the site, or of its sandbox.", examples: ["toys"] },
  Since: {
    type: "string",
    description: "The `Next` of the previous event, so that you can check that no event is missing.",
    examples: [exampleSince],
  },
  Changes: {
    type: "array",
    description: "The changes, oldest first.",
    minItems: 1,
    maxItems: maxChangesPerEvent,
    items: ref("schemas", anyChangeName),
  },
  Next: {
    type: "string",
    description: "The cursor after this event. Store it with the records.",
    examples: [examplePosition.next],
  },
};

function exampleOf({ type, members }: WebhookEvent, resources: readonly Resource[]): Schema {
  const all: Record<DataMember, unknown> = {
    Site: "toys",
    Since: exampleSince,
    Changes: exampleItems(resources, json).map((item) => JSON.parse(item)),
    Next: examplePosition.next,
  };
  return {
    type,
    timestamp: "2026-11-21T20:15:00.123Z",
    data: Object.fromEntries(members.map((name) => [name, all[name]])),
  };
}
