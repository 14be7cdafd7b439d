// The bodies of a resource's operations in one format, with their examples.

import type { Resource } from "../model/resource.ts";
import { type Form, type Schema, schemaName } from "../schemas/json-schema.ts";
import { exampleList, exampleSingle } from "./examples.ts";
import { headerRefs, headersOf } from "./headers.ts";
import { mediaType, ref, type WireFormat } from "./wire.ts";

export class Contents {
  readonly #resource: Resource;
  readonly #format: WireFormat;

  constructor(resource: Resource, format: WireFormat) {
    this.#resource = resource;
    this.#format = format;
  }

  /** The answer with a list. */
  list(description: string): Schema {
    const example = exampleList(this.#resource, this.#format);
    return this.#answer(description, this.#listSchema(), example, headersOf.list);
  }

  /** An example that cannot stand in the contents (see `inline`), as the end of a description. */
  shown(what: string, example: unknown): string {
    return typeof example === "string"
      ? `\n\n${what}:\n\n\`\`\`${this.#format.name}\n${indented(example)}\n\`\`\``
      : "";
  }

  #listSchema(): Schema {
    const xml = { name: "Results", wrapped: true };
    const arrayOf = (form: Form) => ({ type: "array", items: ref("schemas", schemaName(this.#resource, form)) });
    // In XML the list cannot be one of two schemas: `xml` belongs to the array. Every record is one in part as well.
    if (this.#format.name === "xml") return { ...arrayOf("part"), xml };
    return { anyOf: [arrayOf("whole"), { ...arrayOf("part"), description: "With `fields`." }] };
  }

  record(description: string, headers: readonly string[]): Schema {
    const schema = ref("schemas", schemaName(this.#resource, "whole"));
    return this.#answer(description, schema, exampleSingle(this.#resource, this.#format), headers);
  }

  #answer(description: string, schema: Schema, example: unknown, headers: readonly string[]): Schema {
    const content = { [mediaType(this.#format.contentType)]: { schema, ...inline(example) } };
    return { description, headers: headerRefs(headers), content };
  }

  notModified(headers: readonly string[]): Schema {
    return {
      description: "It is still what `If-None-Match` says. No body.",
      headers: headerRefs([...headersOf.notModified, ...headers]),
    };
  }

  body(form: Form, example: unknown, required: boolean): Schema {
    const schema = ref("schemas", schemaName(this.#resource, form));
    return { required, content: { [mediaType(this.#format.contentType)]: { schema, ...inline(example) } } };
  }
}

/** XML as a person would write it: the server's has no white space between its elements. */
function indented(xml: string): string {
  let depth = 0;
  const lines = xml.replace(/>(?=<)/g, ">\n").split("\n");
  return lines
    .map((line) => {
      if (line.startsWith("</")) depth--;
      const indent = "  ".repeat(depth);
      if (/^<[^/?][^>]*>$/.test(line) && !line.endsWith("/>")) depth++;
      return indent + line;
    })
    .join("\n");
}

/** An example in XML is a text, which linters take for a value that does not fit its schema; it is in the description. */
function inline(example: unknown): Schema {
  return typeof example === "string" ? {} : { example };
}
