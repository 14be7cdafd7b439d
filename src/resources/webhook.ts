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
    UID: matching("^[0-9A-Za-z]*$", "use letters and digits", {
      max: 32,
      description: "Random text that stays the same in every backup and site file, unlike the ID.",
      example: "Q8vT2nLs6HdRc1Ue",
    }),
  },
});
