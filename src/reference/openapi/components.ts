// What operations have in common: names, tags, and references to components.

import type { Format } from "../../formats/format.ts";
import type { Resource } from "../../model/resource.ts";
import type { Schema } from "../json-schema.ts";

/** An operation with what every operation on a resource has. */
export interface OpenapiOperation extends Schema {
  readonly operationId: string;
  readonly summary: string;
  readonly responses: { readonly 200: Schema; readonly [status: number]: Schema };
}

/** A component or operation in a format: `listBrands`, `listBrandsXml`. JSON has no suffix. */
export function nameIn({ name: format }: Format, name: string): string {
  return format === "json" ? name : name + capitalized(format);
}

/** A sentence or a name in words, such as `order status` or `bad-request`, as an identifier: `OrderStatus`. */
export function identifierOf(words: string): string {
  return words.split(/[ -]/).map(capitalized).join("");
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The key of a content object: the media type without its charset. */
export function mediaType(contentType: string): string {
  return contentType.replace(/;.*/, "");
}

export function ref(kind: "schemas" | "headers" | "parameters" | "responses", name: string): Schema {
  return { $ref: `#/components/${kind}/${name}` };
}

/** What has operations: a resource, or the feed. */
export type Tagged = Pick<Resource, "plural" | "description">;

/** The tag of its operations in a format. */
export function tagOf({ plural }: Tagged, { name }: Format): string {
  return name === "json" ? capitalized(plural) : `${capitalized(plural)} in ${name.toUpperCase()}`;
}

/** `a brand`, `an order status`. */
export function withArticle(singular: string): string {
  return `${/^[aeiou]/.test(singular) ? "an" : "a"} ${singular}`;
}
