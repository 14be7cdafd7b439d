import type { Field, Fields, Text } from "./field.ts";
import { type Shape, shapeOf } from "./shape.ts";

export interface Declaration {
  /** The name in the store, the journal and the documentation: `order-status`. */
  readonly name: string;
  /** The path below `/restapi/`, and the name on the command line: `orderstatuses`. */
  readonly path: string;
  /** The name of a record's XML element: `OrderStatus`. */
  readonly element: string;
  /** What to call one and many of them in a sentence. */
  readonly singular: string;
  readonly plural: string;
  readonly description: string;
  /** `written`: all five operations; `read`: list and look up; `system`: kept at the system site, and not served. */
  readonly access: "written" | "read" | "system";
  readonly fields: Fields;
}

/** A text field with the way to it. */
export interface Leaf {
  /** Dotted: `Address.Town`. */
  readonly path: string;
  readonly keys: readonly string[];
  readonly field: Text;
}

export interface Resource extends Declaration {
  /** Every text field in the order of the declaration, those of groups included. */
  readonly leaves: readonly Leaf[];
  readonly shape: Shape;
}

/** A resource and what derives from its declaration. Throws when the declaration contradicts itself. */
export function defineResource(declaration: Declaration): Resource {
  for (const name of Object.keys(declaration.fields)) {
    if (name === "ID") throw new Error(`${declaration.name}: every record has an ID; it is not declared`);
  }
  const { element, fields } = declaration;
  return { ...declaration, leaves: leavesOf(fields, []), shape: shapeOf(element, fields) };
}

/** Those of `resources` that clients see. */
export function servedOf(resources: readonly Resource[]): readonly Resource[] {
  return resources.filter((resource) => resource.access !== "system");
}

/** The leaf with this dotted path, or undefined. */
export function findLeaf(resource: Resource, path: string): Leaf | undefined {
  return resource.leaves.find((leaf) => leaf.path === path);
}

/** Every name that may stand in `sort`, `filter` and `fields`: ID, the text fields and the groups. */
export function fieldPaths(resource: Resource): string[] {
  const groups = resource.leaves.flatMap(({ keys }) =>
    keys.slice(1).map((_, depth) => keys.slice(0, depth + 1).join(".")),
  );
  return ["ID", ...new Set(groups), ...resource.leaves.map((leaf) => leaf.path)];
}

function leavesOf(fields: Fields, above: readonly string[]): Leaf[] {
  return Object.entries(fields).flatMap(([name, field]: [string, Field]) => {
    const keys = [...above, name];
    return field.kind === "group" ? leavesOf(field.fields, keys) : [{ path: keys.join("."), keys, field }];
  });
}
