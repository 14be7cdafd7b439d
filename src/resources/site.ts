import { choice, instant, matching } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";
import { siteResourceName } from "../model/system-site.ts";

/** Characters that occur in the normal form; `parseHostname` checks the rest. */
const hostname = "(?:[a-z0-9._-]+|\\[[0-9a-f:]+\\])";
const hostnames = `^(?:${hostname}(?: ${hostname})*)?$`;

export const maxSiteNameLength = 64;

/** The server's sites, a system resource: the records belong to the system site (ID 0), and a record's ID is its site's ID. */
export const site = defineResource({
  name: siteResourceName,
  path: "sites",
  element: "Site",
  singular: "site",
  plural: "sites",
  description: "A site with its own hostnames, keys and records.",
  access: "system",
  fields: {
    Name: matching(
      "^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$",
      "use lower-case letters, digits and hyphens, with a letter or digit at both ends",
      {
        max: maxSiteNameLength,
        required: true,
        description: "Name of the site.",
        example: "garden-shop",
      },
    ),
    Hostnames: matching(hostnames, "use hostnames in their normal form, separated by spaces", {
      max: 4096,
      description: "Hostnames of the site in their normal form, separated by spaces.",
      example: "garden.example www.garden.example",
    }),
    Default: choice(["yes"], { description: "`yes` if it also serves hosts that belong to no site.", example: "yes" }),
    Suspended: instant({ description: "When it was suspended. Empty if it wasn't.", example: "" }),
    Importing: instant({
      description:
        "Until when a running `import-site` or `site sandbox` has reserved the site. Empty if the site is complete.",
      example: "",
    }),
    SandboxOf: matching("^(?:[1-9][0-9]*)?$", "use a site ID", {
      max: 16,
      description: "ID of the live site this is the sandbox of. Empty for a live site.",
      example: "",
    }),
    KeyWebhooks: choice(["no"], { description: "`no` if API keys can't manage its webhooks.", example: "" }),
    UID: matching("^[0-9A-Za-z]*$", "use letters and digits", {
      max: 32,
      description: "Random text that stays the same in every backup and site file, unlike the ID.",
      example: "k3J9aZ0qP4mXw7Yb",
    }),
  },
});
