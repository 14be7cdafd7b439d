import { choice, instant, matching, text } from "../model/field.ts";
import { scopes } from "../model/key.ts";
import { defineResource } from "../model/resource.ts";

/** API keys. A system resource; the key itself is not kept, only its digest. */
export const key = defineResource({
  name: "key",
  path: "keys",
  element: "Key",
  singular: "key",
  plural: "keys",
  description: "An API key of one website.",
  access: "system",
  fields: {
    Site: matching("^[1-9][0-9]*$", "must be the number of a site", {
      max: 16,
      required: true,
      description: "Number of the site that it opens.",
      example: "1",
    }),
    Prefix: text({
      max: 16,
      required: true,
      description: "Its first characters, to tell it by.",
      example: "sfk_AbCd1234",
    }),
    Digest: matching("^[0-9a-f]{64}$", "must be a SHA-256 in hexadecimal", {
      max: 64,
      required: true,
      description: "SHA-256 of the key.",
      example: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    }),
    Label: text({ max: 128, description: "What it is for.", example: "warehouse till" }),
    Scope: choice(scopes, { required: true, description: "What it may do; write includes read.", example: "write" }),
    Rate: matching("^(?:[1-9][0-9]{0,5})?$", "must be a whole number of requests per second", {
      max: 6,
      description: "Requests per second it may make; empty for the server's own limit.",
      example: "50",
    }),
    Created: instant({ description: "When it was made.", example: "2026-01-31T12:00:00.000Z" }),
    Expires: instant({ description: "When it stops working; empty for never.", example: "2027-01-31T12:00:00.000Z" }),
    Revoked: instant({ description: "When it was revoked; empty when it was not.", example: "" }),
  },
});
