// The reporting views: one read-only view per resource, with a column per text field, for reports with SQL. The engines create them (`migrate.ts`).

import type { Resource } from "../../model/resource.ts";

/** The view of a resource: its name, and a column per text field. */
export interface ReportingView {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly keys: readonly string[] }[];
}

/**
 * Returns the view of a resource, for example with the column `brand.address_town` for `Address.Town`. Program versions that declare different
 * fields may share a database. So columns are only added, after the columns that the view has already.
 * @param present the dotted paths of the columns that the view has in the database
 */
export function toReportingView(resource: Resource, present: readonly string[]): ReportingView {
  const paths = new Set([...present, ...resource.textFields.map(({ path }) => path)]);
  const columns = [...paths].map((path) => ({ name: snakeCase(path), keys: path.split(".") }));
  return { name: reportingViewName(resource), columns };
}

export function reportingViewName({ name }: Resource): string {
  return name.replaceAll("-", "_");
}

function snakeCase(path: string): string {
  return path
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_")
    .replaceAll(".", "_")
    .toLowerCase();
}
