// Which columns become which fields: as the operator chose them, kept for the next file of the same kind.

import type { ResourceDeclaration } from "../declarations.ts";
import type { FileLook, Mapping } from "./imports.ts";

/** For whom the browser keeps a mapping: the IDs of an operator and of a site, and the path of a resource. */
interface MappingOwner {
  readonly operator: number;
  readonly site: number;
  readonly resource: string;
}

/** What the browser keeps for an owner. */
interface KeptMapping {
  readonly mapping: Mapping;
  readonly match: string;
}

function keyOf({ operator, site, resource }: MappingOwner): string {
  return `storefront.mapping.${operator}.${site}.${resource}`;
}

export function keepMapping(owner: MappingOwner, kept: KeptMapping): void {
  try {
    localStorage.setItem(keyOf(owner), JSON.stringify(kept));
  } catch {
    // The browser keeps nothing for this page.
  }
}

/** The mapping of the last import, if the file has all of its columns. */
export function keptMapping(owner: MappingOwner, look: FileLook): KeptMapping | undefined {
  try {
    const kept: KeptMapping = JSON.parse(localStorage.getItem(keyOf(owner)) ?? "");
    const names = new Set(look.columns?.map(({ name }) => name));
    const columns = Object.values(kept.mapping.fields).map(columnOf);
    const isFitting = columns.length > 0 && columns.every((column) => column === undefined || names.has(column));
    return isFitting ? kept : undefined;
  } catch {
    return undefined;
  }
}

/** The columns that are named as fields. */
export function suggestedMapping({ columns = [] }: FileLook): Mapping {
  return { fields: Object.fromEntries(columns.flatMap(({ name, field }) => (field ? [[field, name]] : []))) };
}

/** The field by which records are found, unless the operator chooses another: the ID, else a code or a name that every record has. */
export function suggestedMatch({ fields }: ResourceDeclaration, mapping: Mapping): string {
  const mapped = fields.filter(({ path, required }) => required && path in mapping.fields).map(({ path }) => path);
  if ("ID" in mapping.fields) return "ID";
  return mapped.find((path) => path === "Code") ?? mapped[0] ?? "ID";
}

/** The mapping with another column for a field; the empty text for none. */
export function withColumn(mapping: Mapping, field: string, column: string): Mapping {
  const { [field]: _, ...others } = mapping.fields;
  return { ...mapping, fields: column === "" ? others : { ...others, [field]: column } };
}

/** The column of an entry of a mapping; undefined for a constant. */
export function columnOf(entry: unknown): string | undefined {
  return typeof entry === "string" ? entry : (entry as { readonly column?: string } | undefined)?.column;
}

/** A mapping in a file, as `import --map` reads it. @throws Error when it is none */
export async function readMappingFile(file: File): Promise<Mapping> {
  const { fields, skip } = JSON.parse(await file.text());
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) throw new Error("no mapping");
  return skip === undefined ? { fields } : { fields, skip };
}

/** Offers a mapping as a file. */
export function saveMappingFile(mapping: Mapping): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${JSON.stringify(mapping, null, 2)}\n`], { type: "application/json" }));
  link.download = "mapping.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
