// The bodies of a resource's operations in one format, with their examples.

import type { Resource } from "../../model/resource.ts";
import { type Form, type Schema, schemaName } from "../json-schema.ts";
import { exampleList, exampleSingle } from "./examples.ts";
import { headerRefs, headersOf } from "./headers.ts";
import { mediaType, ref, type WireFormat } from "./interface.ts";

export class Contents {
  readonly #resource: Resource;
  readonly #format: WireFormat;

  constructor(resource: Resource, format: WireFormat) {
    this.#resource = resource;
    this.#format = format;
  }

  /** The response with a list. */
  list(description: string): Schema {
    const items = ref("schemas", schemaName(this.#resource, "whole"));
    const xml = this.#format.name === "xml" ? { xml: { name: "Results", wrapped: true } } : {};
    const example = exampleList(this.#resource, this.#format);
    return this.#answer(description, { type: "array", items, ...xml }, example, headersOf.list);
  }

  record(description: string, headers: readonly string[]): Schema {
    const schema = ref("schemas", schemaName(this.#resource, "whole"));
    return this.#answer(description, schema, exampleSingle(this.#resource, this.#format), headers);
  }

  #answer(description: string, schema: Schema, example: unknown, headers: readonly string[]): Schema {
    const content = { [mediaType(this.#format.contentType)]: { schema, example } };
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
    return { required, content: { [mediaType(this.#format.contentType)]: { schema, example } } };
  }
}
