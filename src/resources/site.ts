import { choice, matching } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";

/** Websites. A system resource: its records belong to site 0, and a record's ID is the number of the site it describes. */
export const site = defineResource({
  name: "site",
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
    Hostnames: matching(
      "^(?:[^\\s/:@,*?#]+(?: [^\\s/:@,*?#]+)*)?$",
      "must be hostnames without port, separated by blanks",
      {
        max: 4096,
        description: "The hosts under which it answers, in lower case, separated by blanks.",
        example: "garden.example www.garden.example",
      },
    ),
    Default: choice(["yes"], { description: "`yes` when it answers for every other host.", example: "yes" }),
  },
});
