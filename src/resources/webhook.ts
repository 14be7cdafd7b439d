import { instant, matching, text } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";
import { webhookResourceName } from "../model/system-site.ts";

/** Webhooks, a system resource. Their delivery state, secrets and attempts aren't part of the record (model/webhooks.ts). */
export const webhook = defineResource({
  name: webhookResourceName,
  path: "webhooks",
  element: "Webhook",
  singular: "webhook",
  plural: "webhooks",
  description: "A URL that one site's changes are delivered to.",
  access: "system",
  fields: {
    Site: matching("^[1-9][0-9]*$", "use a site ID", {
      max: 16,
      required: true,
      description: "ID of the site it follows.",
      example: "1",
    }),
    URL: matching("^https?://[!-~]+$", "use a URL that begins with https:// (or http:// for this machine)", {
      max: 2048,
      required: true,
      description: "The receiver's URL in normal form.",
      example: "https://erp.example/hooks/storefront",
    }),
    Resources: matching("^(?:[a-z]+(?: [a-z]+)*)?$", "use resource paths, separated by spaces", {
      max: 1024,
      description: "Paths of the resources whose changes it delivers, separated by spaces. Empty for all.",
      example: "brands orderstatuses",
    }),
    Created: instant({ description: "When it was created.", example: "2026-01-31T12:00:00.000Z" }),
    Paused: instant({ description: "When it was paused. Empty if it wasn't.", example: "" }),
    Reason: text({
      max: 255,
      description: "Why it is paused.",
      example: "the receiver responded with 410",
    }),
    PausedBy: text({
      max: 255,
      description: "Who paused it, as in the journal. Empty if it isn't paused, or nobody in particular did.",
      example: "console:anna",
    }),
    Key: text({
      max: 24,
      description: "Prefix of the API key that made it. Empty if an operator did.",
      example: "sfk_AbCd1234",
    }),
    UID: matching("^[0-9A-Za-z]*$", "use letters and digits", {
      max: 32,
      description: "Random text that stays the same in every backup and site file, unlike the ID.",
      example: "Q8vT2nLs6HdRc1Ue",
    }),
  },
});

const url = matching("^https?://[!-~]+$", "use a URL that begins with https://", {
  max: 2048,
  required: true,
  description: "The URL that changes are posted to.",
  example: "https://erp.example/hooks/storefront",
});
const resources = matching("^(?:[a-z]+(?: [a-z]+)*)?$", "use resource paths, separated by spaces", {
  max: 1024,
  description: "Paths of the resources whose changes are sent, separated by spaces.",
  example: "brands orderstatuses",
});

/** What the two declarations for clients have in common. */
const forClients = {
  path: "webhooks",
  element: "Webhook",
  singular: "webhook",
  plural: "webhooks",
  description: "A URL that the site's changes are sent to.",
  access: "system",
} as const;

/** What clients send to create or change a webhook of their site. */
export const sentWebhook = defineResource({
  name: "sent-webhook",
  ...forClients,
  fields: {
    URL: url,
    Resources: {
      ...resources,
      description: `${resources.description} Empty for all that the key can read. Can't be changed.`,
    },
  },
});

/** What clients see of a webhook. */
export const shownWebhook = defineResource({
  name: "shown-webhook",
  ...forClients,
  fields: {
    URL: { ...url, description: "The URL. Parts that may be secret are hidden, unless your key made the webhook." },
    Resources: { ...resources, description: `${resources.description} Empty for all.` },
    Status: text({ max: 20, description: "`active`, `failing`, `paused` or `incomplete`.", example: "active" }),
    Detail: text({ max: 300, description: "Why it has this status. Empty for `active`.", example: "" }),
    Behind: text({
      max: 20,
      description:
        "How many changes haven't been sent yet. With `Resources`, counting stops at about 10,000. Empty if unknown.",
      example: "0",
    }),
    Cursor: text({
      max: 100,
      description: "The cursor after the last change it has sent.",
      example: "8d41f7a0c35e.19",
    }),
    Created: instant({ description: "When it was created.", example: "2026-01-31T12:00:00.000Z" }),
    Key: text({
      max: 24,
      description: "Prefix of the API key that made it. Empty if an operator did.",
      example: "sfk_AbCd1234",
    }),
    Secret: text({
      max: 100,
      description: "The new secret, after the webhook was created or its secret rotated. Otherwise empty.",
      example: "",
    }),
  },
});

/** An attempt to deliver an event, by its number. */
export const shownDelivery = defineResource({
  name: "delivery",
  path: "deliveries",
  element: "Delivery",
  singular: "delivery",
  plural: "deliveries",
  description: "An attempt to deliver an event. Its ID is the attempt's number.",
  access: "system",
  fields: {
    At: instant({ description: "When the attempt began.", example: "2026-01-31T12:00:00.000Z" }),
    Status: text({
      max: 3,
      description: "The receiver's status code. Empty if there was no response.",
      example: "204",
    }),
    Milliseconds: text({ max: 10, description: "How long the attempt took.", example: "120" }),
    Fault: text({ max: 500, description: "What went wrong. Empty if nothing did.", example: "" }),
  },
});
