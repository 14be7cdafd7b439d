// The read-only views of the resources, for reports with SQL.

import type { Resource } from "../model/resource.ts";

/** A resource's view: its name, and a column per text field. */
export interface View {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly keys: readonly string[] }[];
}

/**
 * The view of a resource: `brand.address_town` for `Address.Town`. Versions of the program that declare different fields
 * may share a database, so a view only grows: new columns follow those that it has.
 * @param present the dotted paths of the columns that the view has in the database
 */
export function viewOf(resource: Resource, present: readonly string[]): View {
  const paths = new Set([...present, ...resource.leaves.map(({ path }) => path)]);
  const columns = [...paths].map((path) => ({ name: snakeCase(path), keys: path.split(".") }));
  return { name: viewNameOf(resource), columns };
}

export function viewNameOf({ name }: Resource): string {
  return name.replaceAll("-", "_");
}

function snakeCase(path: string): string {
  return path
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_")
    .replaceAll(".", "_")
    .toLowerCase();
}
