// The changes of a site as CSV, one row for each changed field, for people who audit them in a spreadsheet.

import { toCsvRow } from "../../formats/csv.ts";
import { escapeControls } from "../../lib/text.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { JournalEntry } from "../../model/change.ts";
import { allResources } from "../../resources/all.ts";

/** The columns of the file. */
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

/** The first row of the file. */
export const historyCsvHeader = toCsvRow(columns);

/**
 * Writes a header and the rows of each entry, in the order of the entries. The text of one entry is yielded as a whole. A time is ISO 8601 in UTC.
 * Yields to the event loop after 2 ms.
 * @param labels the label of each API key, by its prefix
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

/** Returns one row for each field that an entry changed, and at least one. @param labels the label of each API key, by its prefix */
export function toHistoryRows(entry: JournalEntry, labels: ReadonlyMap<string, string>): string {
  const { at, actor, run, operation, resource, id, revision } = entry;
  const { before, after } = statesOf(entry);
  const path = allResources.find(({ name }) => name === resource)?.path ?? resource;
  const start = [new Date(at).toISOString(), personOf(actor, labels), actor, run ?? "", operation, path, id];
  const name = nameOf(after ?? before ?? {});
  const fields = changedFields(before ?? {}, after ?? {});
  const rows = fields.length > 0 ? fields : [{ path: "", before: "", after: "" }];
  return rows
    .map((field) => toCsvRow([...start, name, field.path, field.before, field.after, revision].map(toShownCell)))
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

/** Parses a record, without the digest of a key, which only the server needs. */
export function withoutDigest(json: string): object {
  const { Digest: _, ...shown } = JSON.parse(json);
  return shown;
}

/** Returns the text by which a person recognizes a record: its name, the prefix of a key, or the URL of a webhook. */
export function nameOf(record: object): string {
  const { Name, Prefix, URL: url = "" } = record as Record<string, string>;
  return Name ?? Prefix ?? url;
}

/** Names an actor for people: `anna` for `console:anna`, `root (command line)` for `operator:root`, and a key by its label. */
function personOf(actor: string, labels: ReadonlyMap<string, string>): string {
  if (actor.startsWith("console:")) return actor.slice("console:".length);
  if (actor.startsWith("operator:")) return `${actor.slice("operator:".length)} (command line)`;
  return labels.get(actor) || actor;
}

interface ChangedField {
  /** The dotted path. */
  readonly path: string;
  /** The empty text for a missing value. */
  readonly before: string;
  readonly after: string;
}

/** Returns the fields that differ between two states of a record, apart from its ID. */
function changedFields(before: object, after: object): readonly ChangedField[] {
  const [old, now] = [toTexts(before), toTexts(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((path) => ({ path, before: old.get(path) ?? "", after: now.get(path) ?? "" }))
    .filter((field) => field.path !== "ID" && field.before !== field.after);
}

/** Returns the value of each field of a record as text, by the dotted path of the field. */
function toTexts(record: object, above = "", texts = new Map<string, string>()): Map<string, string> {
  for (const [name, value] of Object.entries(record)) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) toTexts(value, `${above}${name}.`, texts);
    else texts.set(above + name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return texts;
}

/**
 * Escapes characters that would control a terminal or reorder the text, as in `\u202e`, so that no value looks like another. Cells that look like
 * formulas stay as they are, because telephone numbers start with `+`.
 */
function toShownCell(cell: string | number): string | number {
  if (typeof cell === "number") return cell;
  // A line can end with CR LF. Any other CR would let a terminal overwrite the line.
  return cell.split("\r\n").map(escapeControls).join("\r\n");
}
