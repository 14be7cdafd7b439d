// Staged edits, which the table or a form shows but the server doesn't have yet. All functions return a new state, and keep the objects of records
// whose edits haven't changed.

import type { ChangesBody, ConflictInfo, RecordResponse } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import type { HttpErrorBody } from "../api/call-api.ts";
import { describeFault, describeFieldError, differences, faultOf, textAt, toValues } from "../text/fields.ts";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";

/** A record with staged edits. */
export interface StagedRecord {
  /** The record as the operator saw it at the first edit. */
  readonly base: RecordResponse;
  /** The new texts, by field path. */
  readonly texts: ReadonlyMap<string, string>;
  /** Why the server or a field's rules rejected a text, by path. An empty path means the whole record. */
  readonly faults: ReadonlyMap<string, string>;
  /** What someone else has changed in the meantime. */
  readonly conflict: ConflictInfo | undefined;
  /** Whose value to keep, by the paths of conflicting fields. Nothing is chosen at first. */
  readonly choices: ReadonlyMap<string, Choice>;
}

export type Choice = "theirs" | "mine";

/** A field that the operator and someone else have changed to different values. */
export interface ConflictingField {
  readonly path: string;
  /** The value that both started from. */
  readonly original: string;
  readonly theirs: string;
  readonly mine: string;
}

export interface Edit {
  readonly item: RecordResponse;
  readonly path: string;
  readonly text: string;
}

/** A field's staged text before an edit; undefined if it had none. */
type Before = Omit<Edit, "text"> & { readonly text: string | undefined };

export interface StagedEdits {
  readonly records: ReadonlyMap<number, StagedRecord>;
  /** The texts before each step, for Ctrl+Z. */
  readonly steps: readonly (readonly Before[])[];
}

export const nothingStaged: StagedEdits = { records: new Map(), steps: [] };

/** Maximum records with staged edits, and bytes of the request that saves them (admin/server.ts). */
export const maxStagedRecords = 5000;
const maxStagedBytes = 1024 * 1024;
const maxSteps = 1000;

export function countEdits({ records }: StagedEdits): number {
  let count = 0;
  for (const { texts } of records.values()) count += texts.size;
  return count;
}

/** Whether edits are more than can be saved at once. */
export function isTooMuch(staged: StagedEdits): boolean {
  return staged.records.size > maxStagedRecords || new Blob([JSON.stringify(toChanges(staged))]).size > maxStagedBytes;
}

export const fullText = () => translate("record.pending_full", { count: toNumber(maxStagedRecords) });

/** Stages edits as one step. */
export function stageEdits(staged: StagedEdits, edits: readonly Edit[], resource: ResourceInfo): StagedEdits {
  const records = new Map(staged.records);
  const step: Before[] = [];
  for (const { item, path, text } of edits) {
    const id = item.record.ID;
    const before = records.get(id)?.texts.get(path);
    if (text === (before ?? textAt(item.record, path))) continue;
    step.push({ item, path, text: before });
    setText(records, item, path, text, resource);
  }
  return step.length === 0 ? staged : { records, steps: [...staged.steps, step].slice(-maxSteps) };
}

export function undoStep({ records, steps }: StagedEdits, resource: ResourceInfo): StagedEdits {
  const changed = new Map(records);
  for (const { item, path, text } of [...(steps.at(-1) ?? [])].reverse()) setText(changed, item, path, text, resource);
  return { records: changed, steps: steps.slice(0, -1) };
}

/** Discards all edits of some records. Ctrl+Z doesn't bring them back. */
export function discardEdits(staged: StagedEdits, ids: readonly number[]): StagedEdits {
  const records = new Map(staged.records);
  for (const id of ids) records.delete(id);
  return { records, steps: withoutRecords(staged.steps, ids) };
}

function withoutRecords(steps: StagedEdits["steps"], ids: readonly number[]): StagedEdits["steps"] {
  const gone = new Set(ids);
  const isGone = (before: Before) => gone.has(before.item.record.ID);
  return steps.map((step) => step.filter((before) => !isGone(before))).filter((step) => step.length > 0);
}

/** Sets a field's staged text. Passing undefined, or the record's own text, removes it. */
function setText(
  records: Map<number, StagedRecord>,
  item: RecordResponse,
  path: string,
  text: string | undefined,
  resource: ResourceInfo,
): void {
  const id = item.record.ID;
  const none = { texts: new Map(), faults: new Map(), conflict: undefined, choices: new Map() };
  const current = records.get(id) ?? { base: item, ...none };
  const texts = without(current.texts, path);
  // Any edit may fix what was wrong with the record as a whole.
  const faults = without(without(current.faults, path), "");
  if (text !== undefined && text !== textAt(current.base.record, path)) {
    texts.set(path, text);
    const field = resource.fields.find((one) => one.path === path);
    const fault = field && faultOf(field, text);
    if (fault) faults.set(path, fault);
  }
  if (texts.size === 0) records.delete(id);
  else records.set(id, { ...current, texts, faults, choices: without(current.choices, path) });
}

function without<T>(map: ReadonlyMap<string, T>, path: string): Map<string, T> {
  const rest = new Map(map);
  rest.delete(path);
  return rest;
}

export function countFaults({ records }: StagedEdits): number {
  return [...records.values()].reduce((sum, { faults }) => sum + faults.size, 0);
}

export function toChanges({ records }: StagedEdits): ChangesBody {
  return {
    changes: [...records].map(([id, { base, texts }]) => ({ id, version: base.version, values: toValues(texts) })),
  };
}

/** The ID of a new record while it's in its form. */
export const newId = 0;

/** Marks the fields and records that the server rejected. `errors` are those of a new record. */
export function markProblem(
  staged: StagedEdits,
  { errors = [], faults = [], conflicts = [] }: Pick<HttpErrorBody, "errors" | "faults" | "conflicts">,
): StagedEdits {
  const records = new Map(staged.records);
  for (const { id, ...error } of [...faults, ...errors.map((one) => ({ id: newId, ...one }))]) {
    const current = records.get(id);
    if (!current) continue;
    const isOfText = current.texts.has(error.field);
    const [path, text] = isOfText ? [error.field, describeFault(error)] : ["", describeFieldError(error)];
    records.set(id, { ...current, faults: new Map([...current.faults, [path, text]]) });
  }
  for (const conflict of conflicts) {
    const current = records.get(conflict.id);
    if (current) records.set(conflict.id, { ...current, conflict, choices: new Map() });
  }
  return { ...staged, records };
}

/** Returns the fields for which the operator has to choose a value. Fields that only one of the two has changed keep that change. */
export function conflictsIn({ base, texts, conflict }: StagedRecord): readonly ConflictingField[] {
  if (!conflict?.record) return [];
  return differences(base.record, conflict.record).flatMap(({ path, before: original, after: theirs }) => {
    const mine = texts.get(path) ?? theirs;
    return mine === theirs ? [] : [{ path, original, theirs, mine }];
  });
}

/** Counts the fields for which no value is chosen yet, and the deleted records whose edits aren't discarded yet. */
export function countUndecided({ records }: StagedEdits): number {
  const open = [...records.values()].filter(({ conflict }) => conflict);
  const fields = open.flatMap((staged) => conflictsIn(staged).filter(({ path }) => !staged.choices.has(path)));
  return fields.length + open.filter(({ conflict }) => conflict?.record === null).length;
}

/** A field of a record. */
export interface Place {
  readonly id: number;
  readonly path: string;
}

/** Chooses whose value to keep in some conflicting fields, by default in all. */
export function choose(staged: StagedEdits, choice: Choice, at?: Place): StagedEdits {
  const records = new Map(staged.records);
  for (const [id, record] of staged.records) {
    const choices = new Map(record.choices);
    for (const { path } of conflictsIn(record))
      if (!at || (at.id === id && at.path === path)) choices.set(path, choice);
    records.set(id, { ...record, choices });
  }
  return { ...staged, records };
}

/** Applies the choices: the stored records become the base of the edits that are kept. */
export function resolveConflicts(staged: StagedEdits, resource: ResourceInfo): StagedEdits {
  const records = new Map(staged.records);
  const resolved: number[] = [];
  for (const [id, { conflict, texts, choices }] of staged.records) {
    const { record, version } = conflict ?? {};
    if (!record || !version) continue;
    resolved.push(id);
    records.delete(id);
    for (const [path, text] of texts)
      if (choices.get(path) !== "theirs") setText(records, { record, version }, path, text, resource);
  }
  return resolved.length === 0 ? staged : { records, steps: withoutRecords(staged.steps, resolved) };
}

/** In a row that's pasted. */
const maxColumns = 100;

/**
 * Parses tab-separated text, as spreadsheets copy it. Quoted cells may contain tabs and line breaks, which become spaces, because a field has one
 * line.
 * @throws Error if there's more than can be staged
 */
export function parseCells(text: string): string[][] {
  if (text.length > maxStagedBytes) throw new Error(fullText());
  const rows: string[][] = [[]];
  const cell = /(?:"((?:[^"]|"")*)"|([^\t\r\n]*))(\t|\r\n|\n|\r|$)/gy;
  for (let found = cell.exec(text); found; found = cell.exec(text)) {
    const [, quoted, plain = "", end] = found;
    const row = rows.at(-1) as string[];
    row.push((quoted?.replaceAll('""', '"') ?? plain).replace(/[\t\r\n]+/g, " "));
    if (row.length > maxColumns || rows.length > maxStagedRecords) throw new Error(fullText());
    if (end === "" || cell.lastIndex === text.length) break;
    if (end !== "\t") rows.push([]);
  }
  return rows;
}

/**
 * Returns the edits that paste cells into a table.
 * @param items a record for each row of cells
 * @param paths the fields of the columns that the cells go into, and of those to their right
 * @throws Error if there aren't enough columns
 */
export function toEdits(
  items: readonly RecordResponse[],
  paths: readonly string[],
  cells: readonly (readonly string[])[],
): Edit[] {
  const width = Math.max(...cells.map((texts) => texts.findLastIndex((text) => text !== "") + 1));
  if (width > paths.length)
    throw new Error(translate("record.paste_wide", { count: width, smart_count: paths.length }));
  return items.flatMap((item, row) =>
    paths.flatMap((path, column) => {
      const text = cells[row]?.[column];
      return text === undefined ? [] : [{ item, path, text }];
    }),
  );
}
