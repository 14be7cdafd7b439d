// Formats a site's changes as CSV with a row per changed field, for people who audit them in a spreadsheet.

import { toCsvRow } from "../../formats/csv.ts";
import { escapeControls } from "../../lib/text.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { JournalEntry } from "../../model/change.ts";
import { allResources } from "../../resources/all.ts";

const columns = [
  "time",
  "person",
  "actor",
  "run",
  "change",
  "resource",
  "ID",
  "name",
  "field",
  "before",
  "after",
  "revision",
] as const;

export const historyCsvHeader = toCsvRow(columns);

/**
 * Yields the header, then the rows of one entry at a time. Also yields to the event loop, every 2 ms.
 * @param labels key labels by prefix
 */
export async function* toHistoryCsv(
  entries: AsyncIterable<JournalEntry>,
  labels: ReadonlyMap<string, string>,
): AsyncGenerator<string> {
  yield historyCsvHeader;
  const yieldIfDue = createYielder();
  for await (const entry of entries) {
    await yieldIfDue();
    yield toHistoryRows(entry, labels);
  }
}

/** At least one row, even if no field changed. @param labels key labels by prefix */
export function toHistoryRows(entry: JournalEntry, labels: ReadonlyMap<string, string>): string {
  const { at, actor, run, operation, resource, id, revision } = entry;
  const { before, after } = statesOf(entry);
  const declared = allResources.find(({ name }) => name === resource);
  const path = declared?.path ?? resource;
  const toCell = declared?.access === "system" ? escapeFormula : escapeCell;
  const start = [new Date(at).toISOString(), personOf(actor, labels), actor, run ?? "", operation, path, id];
  const name = nameOf(after ?? before ?? {});
  const fields = changedFields(before ?? {}, after ?? {});
  const rows = fields.length > 0 ? fields : [{ path: "", before: "", after: "" }];
  return rows
    .map((field) => toCsvRow([...start, name, field.path, field.before, field.after, revision].map(toCell)))
    .join("");
}

interface States {
  /** Null for a create. */
  readonly before: object | null;
  readonly after: object | null;
}

function statesOf({ operation, body, before }: Pick<JournalEntry, "operation" | "body" | "before">): States {
  if (operation === "delete") return { before: withoutDigest(body), after: null };
  return { before: before === null ? null : withoutDigest(before), after: withoutDigest(body) };
}

/** Parses a record. Leaves out a key's digest, which only the server needs. */
export function withoutDigest(json: string): object {
  const { Digest: _, ...shown } = JSON.parse(json);
  return shown;
}

/** What people recognize a record by: its name, or a key's prefix, or a webhook's URL. */
export function nameOf(record: object): string {
  const { Name, Prefix, URL: url = "" } = record as Record<string, string>;
  return Name ?? Prefix ?? url;
}

/** `anna` for `console:anna`, `root (command line)` for `operator:root`, and a key's label. */
function personOf(actor: string, labels: ReadonlyMap<string, string>): string {
  if (actor.startsWith("console:")) return actor.slice("console:".length);
  if (actor.startsWith("operator:")) return `${actor.slice("operator:".length)} (command line)`;
  return labels.get(actor) || actor;
}

interface ChangedField {
  /** The dotted path. */
  readonly path: string;
  /** Empty if there's no value. */
  readonly before: string;
  readonly after: string;
}

/** Leaves out the ID. */
function changedFields(before: object, after: object): readonly ChangedField[] {
  const [old, now] = [toTexts(before), toTexts(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((path) => ({ path, before: old.get(path) ?? "", after: now.get(path) ?? "" }))
    .filter((field) => field.path !== "ID" && field.before !== field.after);
}

/** Field values as text, by dotted path. */
function toTexts(record: object, above = "", texts = new Map<string, string>()): Map<string, string> {
  for (const [name, value] of Object.entries(record)) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) toTexts(value, `${above}${name}.`, texts);
    else texts.set(above + name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return texts;
}

/**
 * Escapes characters that control a terminal or reorder text, such as `\u202e`, so that no value can pass for another. Doesn't touch what looks like a
 * formula, because phone numbers start with `+`.
 */
function escapeCell(cell: string | number): string | number {
  if (typeof cell === "number") return cell;
  // CR is only safe as part of a CR LF. Elsewhere, it makes a terminal overwrite the line.
  return cell.split("\r\n").map(escapeControls).join("\r\n");
}

/** Like `escapeCell`, but spreadsheets won't run the cell as a formula. Admins open the audit log, and anyone may have named a file or key in it. */
function escapeFormula(cell: string | number): string | number {
  return typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${escapeCell(cell)}` : escapeCell(cell);
}
