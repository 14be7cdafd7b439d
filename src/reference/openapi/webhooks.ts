// Webhooks: the requests the server sends, and the responses it expects (contract section 12).

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
    "The site's changes, sent to a URL of yours. The operator adds the webhook and gives you the secret to verify signatures with.",
} as const;

interface WebhookEvent {
  /** The value of `type`. */
  readonly type: string;
  readonly schemaName: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  /** The description of `timestamp`. */
  readonly timestamp: string;
  /** The members of `data`, which are all required. */
  readonly members: readonly DataMember[];
  /** For any status the document doesn't list, and for no response at all. */
  readonly otherResponse: Schema;
}

type DataMember = "Site" | "Since" | "Changes" | "Next";

const sentAgain: Schema = {
  description:
    "With any other status, or no response within 15 seconds, the server sends the same event again, first after 5 seconds, later every 5 hours. Delivery pauses after five days of failures. Redirects aren't followed.",
  headers: {
    "Retry-After": {
      description: "When to send the event again: 5 to 18000 seconds, or a date.",
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
      "Records have changed. Store each record that was created or updated, and remove those that were deleted. Ignore a change unless its `Revision` is higher than the one you have for that record. If `Since` isn't the `Next` of your last event, you've missed one, so read the lists again.",
    timestamp: "When the last of these changes happened, in UTC.",
    members: ["Site", "Since", "Changes", "Next"],
    otherResponse: sentAgain,
  },
  {
    type: "storefront.gone",
    schemaName: "GoneEvent",
    operationId: "receiveGone",
    summary: "Find out that changes are missing",
    description:
      "Some changes can no longer be sent, for example because a backup was restored. Read the lists again. Later changes are sent as usual.",
    timestamp: "When the server noticed, in UTC.",
    members: ["Site", "Since", "Next"],
    otherResponse: sentAgain,
  },
  {
    type: "storefront.test",
    schemaName: "TestEvent",
    operationId: "receiveTest",
    summary: "Receive a test",
    description: "The operator is testing the webhook. Nothing has changed.",
    timestamp: "When the event was sent, in UTC.",
    members: ["Site", "Next"],
    otherResponse: { description: "The operator sees the status. The event isn't sent again." },
  },
];

/** By the events' `type`. */
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
      "2XX": { description: "You have the event, so the server sends the next one. It doesn't read the body." },
      ...(otherResponse === sentAgain ? { 410: pausing } : {}),
      default: otherResponse,
    },
  };
}

const pausing: Schema = {
  description: "You don't want any more events. The server pauses the webhook until the operator resumes it.",
};

/** A delivery's headers (Standard Webhooks 1.0), for `components.parameters`. */
export const webhookParameters: Readonly<Record<string, Schema>> = {
  WebhookId: {
    name: "webhook-id",
    in: "header",
    required: true,
    description: "The event's ID. Every attempt to deliver the event has the same ID and body.",
    schema: { type: "string" },
    example: "evt_3_k3f9a1_18_19_8d41f7a0c35e",
  },
  WebhookTimestamp: {
    name: "webhook-timestamp",
    in: "header",
    required: true,
    description: "When this attempt was made, in seconds since 1970. Reject it if it's more than five minutes off.",
    schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    example: 1795292100,
  },
  WebhookSignature: {
    name: "webhook-signature",
    in: "header",
    required: true,
    description:
      "One signature per valid secret, separated by spaces. [Verify one of them](/docs/webhooks#verify-the-signature) before you parse the body.",
    schema: { type: "string", pattern: "^v1,[A-Za-z0-9+/]{43}=(?: v1,[A-Za-z0-9+/]{43}=)*$" },
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  },
};

/** For `components.schemas`. */
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
      type: { type: "string", const: type, description: "The kind of event. New kinds can be added." },
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
    description: "The previous event's `Next`, so you can check that you haven't missed one.",
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
    description: "The cursor after this event. Store it along with the records.",
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
