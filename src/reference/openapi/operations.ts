// The operations of a resource in one format.

import type { Code } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import type { Schema } from "../json-schema.ts";
import { Contents } from "./contents.ts";
import { exampleChanges, exampleName, exampleNew } from "./examples.ts";
import { headerRefs, headersOf } from "./headers.ts";
import { type Interface, named, type WireFormat } from "./interface.ts";
import { parameterRefs } from "./parameters.ts";
import { always, problemRefs } from "./problems.ts";

/** The paths of `resource` in `format`, with their operations. */
export function pathsOf(resource: Resource, format: WireFormat, api: Interface): Record<string, Schema> {
  const at = new Operations(resource, format, api);
  const isWritten = resource.access === "written";
  return {
    [`/restapi/${resource.path}.${format.name}`]: {
      get: at.list(),
      head: at.headOf(at.list()),
      ...(isWritten ? { post: at.create(), ...at.changes("ByBody") } : {}),
      options: at.options(""),
    },
    [`/restapi/${resource.path}/{id}.${format.name}`]: {
      get: at.lookUp(),
      head: at.headOf(at.lookUp()),
      ...(isWritten ? { post: at.override(), ...at.changes("") } : {}),
      options: at.options("One"),
    },
  };
}

/** The tag of a resource's operations in a format. */
export function tagOf({ plural }: Resource, { name }: WireFormat): string {
  const words = (plural[0] as string).toUpperCase() + plural.slice(1);
  return name === "json" ? words : `${words} in ${name.toUpperCase()}`;
}

/** By path, the record is named in the path; by body, in the body or the query. */
type Naming = "" | "ByBody";

class Operations {
  readonly #resource: Resource;
  readonly #format: WireFormat;
  readonly #api: Interface;
  readonly #contents: Contents;

  constructor(resource: Resource, format: WireFormat, api: Interface) {
    this.#resource = resource;
    this.#format = format;
    this.#api = api;
    this.#contents = new Contents(resource, format);
  }

  list(): Schema {
    const { plural } = this.#resource;
    return {
      ...this.#described(`list${many(this.#resource)}`, `List ${plural}`, listText(plural)),
      parameters: parameterRefs.list(this.#resource),
      responses: {
        200: this.#contents.list(
          `The ${plural}. With \`fields\`, each has its ID and the members that were asked for, and lacks the others.`,
        ),
        304: this.#contents.notModified(["Vary", "X-Total-Count", "Link"]),
        ...this.#problems([]),
      },
    };
  }

  lookUp(): Schema {
    const { singular } = this.#resource;
    return {
      ...this.#described(`get${this.#resource.element}`, `Look up ${a(singular)}`, "One record by its ID."),
      parameters: parameterRefs.lookUp,
      responses: {
        200: this.#contents.record(`The ${singular}.`, headersOf.record),
        304: this.#contents.notModified([]),
        ...this.#problems(["not-found"]),
      },
    };
  }

  create(): Schema {
    const { singular } = this.#resource;
    return {
      ...this.#described(
        `create${this.#resource.element}`,
        `Create ${a(singular)}`,
        "The server gives the ID. Fields that are left out are stored empty.",
      ),
      parameters: parameterRefs.create,
      requestBody: this.#contents.body("new", exampleNew(this.#resource, this.#format), true),
      responses: {
        200: this.#contents.record(`With \`X-HTTP-Method-Override\`: as that method answers.`, headersOf.overridden),
        201: this.#contents.record(`The ${singular} as it is stored, with its ID.`, headersOf.created),
        ...this.#problems(writeProblems),
      },
    };
  }

  override(): Schema {
    const { singular } = this.#resource;
    return {
      ...this.#described(
        `override${this.#resource.element}`,
        `Update or delete ${a(singular)} by POST`,
        "For clients behind a proxy that lets only GET and POST through. Without `X-HTTP-Method-Override`, the answer is 405: a record is created at the path without an ID.",
      ),
      parameters: parameterRefs.override,
      requestBody: this.#contents.body("changes", exampleChanges(this.#resource, this.#format), false),
      responses: {
        200: this.#contents.record(`As the method answers that the POST stands for.`, headersOf.overridden),
        ...this.#problems([...writeProblems, "method-not-allowed"]),
      },
    };
  }

  /** PUT, PATCH and DELETE. */
  changes(naming: Naming): Record<string, Schema> {
    return { put: this.#update("update", naming), patch: this.#update("patch", naming), delete: this.#delete(naming) };
  }

  /** HEAD answers as GET does, without the body; so it has no place of its own in the reference. */
  headOf(get: Schema): Schema {
    const responses = get.responses as Record<string, Schema>;
    const { content: _, ...ok } = responses[200] as Schema;
    return {
      ...get,
      operationId: `check${(get.operationId as string).replace(/^(?:list|get)/, "")}`,
      summary: `${get.summary}: headers only`,
      description: "As GET, without the body.",
      responses: { ...responses, 200: ok },
      "x-scalar-ignore": true,
    };
  }

  options(which: "" | "One"): Schema {
    const name = which ? `${this.#resource.element}` : many(this.#resource);
    return {
      ...this.#described(`options${name}`, "Ask for the methods", "For a browser's preflight; needs no key."),
      security: [],
      ...(which ? { parameters: parameterRefs.preflightByPath } : {}),
      responses: {
        204: { description: "The methods of the path.", headers: headerRefs(headersOf.options) },
        ...problemRefs(["bad-request", "wrong-site", "internal", "unavailable"], this.#format, this.#api),
      },
      "x-scalar-ignore": true,
    };
  }

  #update(verb: "update" | "patch", naming: Naming): Schema {
    const { singular, element } = this.#resource;
    const how = naming ? ", named in the body" : "";
    return {
      ...this.#described(
        `${verb}${element}${naming}`,
        `${verb === "update" ? "Update" : "Patch"} ${a(singular)}${how}`,
        `PUT and PATCH do the same: they change the fields that the body has. ${namingText(naming)}`,
      ),
      parameters: naming ? parameterRefs.changeByBody : parameterRefs.changeByPath,
      requestBody: this.#contents.body("changes", exampleChanges(this.#resource, this.#format), true),
      responses: {
        200: this.#contents.record(`The ${singular} as it now is.`, headersOf.updated),
        ...this.#problems(writeProblems),
      },
    };
  }

  #delete(naming: Naming): Schema {
    const { singular, element } = this.#resource;
    const how = naming ? ", named in the body" : "";
    return {
      ...this.#described(`delete${element}${naming}`, `Delete ${a(singular)}${how}`, namingText(naming)),
      parameters: naming ? parameterRefs.changeByBody : parameterRefs.changeByPath,
      ...(naming
        ? { requestBody: this.#contents.body("changes", exampleName(this.#resource, this.#format), false) }
        : {}),
      responses: {
        200: this.#contents.record(`The ${singular} that was deleted.`, headersOf.deleted),
        ...this.#problems(writeProblems),
      },
    };
  }

  #described(operationId: string, summary: string, description: string): Schema {
    return {
      operationId: named(operationId, this.#format),
      summary,
      description,
      tags: [tagOf(this.#resource, this.#format)],
    };
  }

  #problems(codes: readonly Code[]) {
    return problemRefs([...always, ...codes], this.#format, this.#api);
  }
}

const writeProblems: readonly Code[] = [
  "invalid-record",
  "ambiguous-id",
  "not-found",
  "precondition-failed",
  "too-large",
  "unsupported-media-type",
  "conflict",
  "idempotency-key-reused",
];

function many({ plural }: Resource): string {
  return plural.replace(/(?:^| )([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function a(singular: string): string {
  return `${/^[aeiou]/.test(singular) ? "an" : "a"} ${singular}`;
}

function listText(plural: string): string {
  return `All ${plural} of the website, in ID order. The parameters ask for less, or for another order.`;
}

function namingText(naming: Naming): string {
  return naming
    ? "The record is named by the `ID` in the body, or by `?ID=`. Without one nothing happens, and the answer is 400."
    : "The record is named by the path; an `ID` in the body must be the same.";
}
