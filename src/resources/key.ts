import { instant, matching, text } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";
import { keyResourceName } from "../model/system-site.ts";

/** API keys, a system resource. Only a digest of the key is stored. */
export const key = defineResource({
  name: keyResourceName,
  path: "keys",
  element: "Key",
  singular: "key",
  plural: "keys",
  description: "An API key of one site.",
  access: "system",
  fields: {
    Site: matching("^[1-9][0-9]*$", "use a site ID", {
      max: 16,
      required: true,
      description: "ID of the site it belongs to.",
      example: "1",
    }),
    Prefix: text({
      max: 24,
      required: true,
      description: "First characters of the key, which identify it in lists.",
      example: "sfk_AbCd1234",
    }),
    Digest: matching("^[0-9a-f]{64}$", "use a hexadecimal SHA-256", {
      max: 64,
      required: true,
      description: "SHA-256 of the key.",
      example: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    }),
    Label: text({ max: 128, description: "Purpose of the key.", example: "warehouse till" }),
    Scope: matching("^[a-z]+(?::[a-z]+)?(?: [a-z]+(?::[a-z]+)?)*$", "use rights separated by spaces", {
      max: 1000,
      required: true,
      description: "What the key may do: `read`, `write` or single rights, separated by spaces.",
      example: "write",
    }),
    Networks: matching(
      "^(?:[0-9a-f:.]+/[0-9]{1,3}(?: [0-9a-f:.]+/[0-9]{1,3})*)?$",
      "use networks separated by spaces",
      {
        max: 1000,
        description: "The networks from which the key can be used, separated by spaces. Empty for all.",
        example: "203.0.113.0/24",
      },
    ),
    Rate: matching("^(?:[1-9][0-9]{0,5})?$", "use a whole number of requests per second, from 1", {
      max: 6,
      description: "Requests per second. Empty for the server's limit.",
      example: "50",
    }),
    Created: instant({ description: "When it was created.", example: "2026-01-31T12:00:00.000Z" }),
    Expires: instant({
      description: "When it expires. Empty if it doesn't.",
      example: "2027-01-31T12:00:00.000Z",
    }),
    Revoked: instant({ description: "When it was revoked. Empty if it wasn't.", example: "" }),
    Former: text({
      max: 500,
      description: "Prefixes of the keys it replaced by rotation, latest first, separated by spaces.",
      example: "sfk_EfGh5678",
    }),
  },
});
