import { instant, matching, text } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";

/** Maximum characters of a text. */
export const maxEventChars = 255;

const wholeNumber = (description: string) =>
  matching("^(?:0|[1-9][0-9]{0,15})?$", "use a whole number", { max: 16, description, example: "12" });

const shortText = (description: string, example: string) => text({ max: maxEventChars, description, example });

/**
 * What happened without changing a key, webhook, operator or site: a sign-in, an import, a backup and so on. A system resource, whose journal is what
 * counts (operator/journal/events.ts).
 */
export const event = defineResource({
  name: "event",
  path: "events",
  element: "Event",
  singular: "event",
  plural: "events",
  description: "Something that happened in the console or on the command line.",
  access: "system",
  fields: {
    // Any word goes, so that a restore keeps kinds stored by another version of the program.
    Kind: matching("^[a-z-]+$", "use the name of a kind", {
      max: 32,
      required: true,
      description: "What happened.",
      example: "sign-in",
    }),
    At: instant({ description: "When it happened.", example: "2026-01-31T12:00:00.000Z" }),
    Operator: wholeNumber("ID of the operator it's about. Empty if it's about no operator, or the command line."),
    Name: shortText("Name of the operator, file or action it's about.", "suppliers.csv"),
    Site: wholeNumber("ID of the site it's about. Empty if it isn't about one site."),
    Resource: shortText("Path of the resource it's about.", "brands"),
    Detail: shortText("More about it, such as how someone signed in.", "link"),
    Rows: shortText("What an import did.", "3 created, 2 updated, 0 removed, 1 rejected"),
    Address: shortText("Network address of the browser.", "203.0.113.7"),
    Count: wholeNumber("How often it happened, if it was more than once."),
    UID: matching("^[0-9A-Za-z]*$", "use letters and digits", {
      max: 32,
      description: "Random text, because an event that's the same as the last one wouldn't be a change.",
      example: "k3J9aZ0qP4mXw7Yb",
    }),
  },
});
