// Mappings of columns to fields: suggests and changes them, reads and writes them as files, and remembers the last one for the next file.

import type { FilePreviewResponse, ImportMapping } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { saveFile } from "../shell/site-data.ts";
import { useStored } from "../shell/stored.ts";

interface KeptMapping {
  readonly mapping: ImportMapping;
  readonly match: string;
}

/** Returns the mapping of a resource's last import, which has no fields if there's none, and a function that remembers another one. */
export function useKeptMapping(resource: string): [kept: KeptMapping, keep: (kept: KeptMapping) => void] {
  return useStored<KeptMapping>(`${resource}.mapping`, { mapping: { fields: {} }, match: "" });
}

/** Whether a mapping has fields, and the file has all their columns. */
export function isFitting({ fields }: ImportMapping, preview: FilePreviewResponse): boolean {
  const keys = keysOf(preview);
  const mapped = Object.values(fields).map(columnOf);
  return mapped.length > 0 && mapped.every((column) => column === undefined || keys.has(column));
}

export function suggestedMapping({ columns = [] }: FilePreviewResponse): ImportMapping {
  return { fields: Object.fromEntries(columns.flatMap(({ key, field }) => (field ? [[field, key]] : []))) };
}

export function guessedColumns({ columns = [] }: FilePreviewResponse): ReadonlySet<string> {
  return new Set(columns.filter(({ isGuessed }) => isGuessed).map(({ key }) => key));
}

/** Adapts a mapping to another sheet or header row. Columns in both keep their fields. @param base the mapping for the other columns */
export function carriedOver(
  mapping: ImportMapping,
  before: FilePreviewResponse,
  after: FilePreviewResponse,
  base: ImportMapping,
): ImportMapping {
  const [old, now] = [keysOf(before), keysOf(after)];
  const isIn = (keys: ReadonlySet<string>, entry: unknown) => keys.has(columnOf(entry) ?? "");
  const kept = Object.entries(mapping.fields).filter(([, entry]) => columnOf(entry) === undefined || isIn(now, entry));
  const others = Object.entries(base.fields).filter(([, entry]) => !isIn(old, entry));
  return { ...base, ...mapping, fields: Object.fromEntries([...others, ...kept]) };
}

/** What a mapping calls the file's columns by. */
export function keysOf({ columns = [] }: FilePreviewResponse): ReadonlySet<string> {
  return new Set(columns.map(({ key }) => key));
}

/** Suggests the match field: the ID if there's a column for it, or else the first required field that has one, preferring `Code`. */
export function suggestedMatch({ fields }: ResourceInfo, mapping: ImportMapping): string {
  const mapped = fields.filter(({ path, required }) => required && path in mapping.fields).map(({ path }) => path);
  if ("ID" in mapping.fields) return "ID";
  return mapped.find((path) => path === "Code") ?? mapped[0] ?? "ID";
}

export function fieldsOfColumn({ fields }: ImportMapping, column: string): readonly string[] {
  return Object.keys(fields).filter((field) => columnOf(fields[field]) === column);
}

/** Maps a column to another field. If another column had that field, it loses it. @param field an empty string for none */
export function withField(mapping: ImportMapping, column: string, field: string): ImportMapping {
  const others = Object.entries(mapping.fields).filter(([path, entry]) => path !== field && columnOf(entry) !== column);
  const fields = Object.fromEntries(others);
  return { ...mapping, fields: field === "" ? fields : { ...fields, [field]: column } };
}

/** What to import instead of a cell's text, by that text. */
export type Replacements = Readonly<Record<string, string>>;

/** Adds to a field's lookup, except for empty replacements. */
export function withReplacements(mapping: ImportMapping, field: string, replacements: Replacements): ImportMapping {
  const added = Object.entries(replacements).filter(([, value]) => value !== "");
  if (added.length === 0) return mapping;
  const entry = mapping.fields[field];
  const lookup = { ...(entry as { readonly lookup?: Replacements }).lookup, ...Object.fromEntries(added) };
  // Without `keep`, all other text would be rejected, even valid ones.
  const source = typeof entry === "string" ? { column: entry, keep: true } : (entry as object);
  return { ...mapping, fields: { ...mapping.fields, [field]: { ...source, lookup } } };
}

/** Returns the column in an entry of a mapping, or undefined for a constant. */
export function columnOf(entry: unknown): string | undefined {
  return typeof entry === "string" ? entry : (entry as { readonly column?: string } | undefined)?.column;
}

/** Reads a mapping from a file for `import --map`. @throws Error if the file isn't a mapping */
export async function readMappingFile(file: File): Promise<ImportMapping> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const encoding = bytes[0] === 0xff ? "utf-16le" : bytes[0] === 0xfe ? "utf-16be" : "utf-8";
  const { fields, skip } = JSON.parse(new TextDecoder(encoding).decode(bytes));
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) throw new Error("no mapping");
  return skip === undefined ? { fields } : { fields, skip };
}

export function saveMappingFile(mapping: ImportMapping): void {
  saveFile(new Blob([`${JSON.stringify(mapping, null, 2)}\n`], { type: "application/json" }), "mapping.json");
}
