import { Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";

/** The tables and their columns, the same in every engine, in the order in which a dump lists them. */
export const tables = {
  sites: ["id", "epoch", "revision", "counters"],
  records: ["site_id", "resource", "id", "revision", "body"],
  journal: ["site_id", "revision", "at", "actor", "resource", "id", "operation", "body"],
  idempotency: ["site_id", "key_id", "name", "digest", "at", "operation", "id", "revision", "body"],
  key_uses: ["key_id", "at"],
} as const;

export type TableName = keyof typeof tables;

/** The refusal of a database whose tables are of version `found`, where this program knows no more than `known`. */
export function madeByNewer(found: number, known: number): Refusal {
  return new Refusal(
    "unavailable",
    `the database was made by a newer program (schema ${found}, this one knows ${known}): upgrade this program`,
  );
}

/** A resource's read-only view for people who report with SQL: its name, and a column per text field. */
export interface View {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly keys: readonly string[] }[];
}

/**
 * The view of a resource: `brand.address_town` for `Address.Town`. Versions of the program that declare different fields
 * may share a database, so a view only grows: what it lacks is added behind the columns that it has.
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
