import { choice, matching } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";
import { siteResourceName } from "../model/system-site.ts";

/** The characters of the normal form; `readHostname` checks the rest. */
const hostname = "(?:[a-z0-9._-]+|\\[[0-9a-f:]+\\])";
const hostnames = `^(?:${hostname}(?: ${hostname})*)?$`;

/** Websites. A system resource: its records belong to site 0, and a record's ID is the number of the site it describes. */
export const site = defineResource({
  name: siteResourceName,
  path: "sites",
  element: "Site",
  singular: "site",
  plural: "sites",
  description: "A website with records and keys of its own.",
  access: "system",
  fields: {
    Name: matching("^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$", "must be lower-case letters, digits and hyphens", {
      max: 64,
      required: true,
      description: "What the operator calls the site.",
      example: "garden-shop",
    }),
    Hostnames: matching(hostnames, "must be hostnames in their normal form, separated by blanks", {
      max: 4096,
      description: "The hosts under which it is served, in their normal form, separated by blanks.",
      example: "garden.example www.garden.example",
    }),
    Default: choice(["yes"], { description: "`yes` when it answers for every other host.", example: "yes" }),
  },
});
