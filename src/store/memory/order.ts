// The filters and orders of a list, and the texts of records that they compare.

import type { Steps } from "../../lib/slices.ts";
import { foldCase } from "../../lib/text.ts";
import { type FoundRecords, maxFoundIds } from "../../model/change.ts";
import { type StorefrontRecord, type Values, valueAt } from "../../model/record.ts";
import type { TextFieldPath } from "../../model/resource.ts";
import type { Block, BlockRecord, TextSource } from "./block.ts";

/** Stands for the texts of all fields and the ID together, one line each. */
export const anyField = "any";

/**
 * Returns the text source for a field, for all fields (`anyField`), or for the ID if `textField` is undefined.
 * @param folded whether texts that differ only in upper and lower case become equal
 */
export function toTextSource(textField: TextFieldPath | typeof anyField | undefined, folded = false): TextSource {
  const of = (record: StorefrontRecord) => {
    if (textField === anyField) return allTexts(record);
    return textField ? valueAt(record, textField) : String(record.ID);
  };
  const name = textSourceName(textField);
  return folded ? { name: `${name}~`, of: (record) => foldCase(of(record)) } : { name, of };
}

/** The texts of all fields and the ID together, without upper case: a search reads them, so they are usually cached. */
export const allTextsSource = toTextSource(anyField, true);

export interface SortField {
  /** Undefined for the ID. */
  readonly textField: TextFieldPath | undefined;
  readonly descending: boolean;
}

// The root collation of Unicode. Names are sorted as people expect, whichever locale the server has.
const collator = new Intl.Collator("und");

/** The sort key of a record. */
export interface SortKey {
  readonly id: number;
  /** One for each text source of the order (`sourcesOf`). */
  readonly texts: readonly string[];
}

/** Returns the text sources of an order: its fields, without the ID. */
export function sourcesOf(sort: readonly SortField[]): readonly TextSource[] {
  return sort.flatMap(({ textField }) => (textField ? [toTextSource(textField)] : []));
}

/** Returns a number below 0 if `a` comes before `b`, and above 0 if it comes after `b`. Only the same record gives 0. */
export function compareKeys(a: SortKey, b: SortKey, sort: readonly SortField[]): number {
  let field = 0;
  for (const { textField, descending } of sort) {
    const order = textField ? compareTexts(a.texts[field] as string, b.texts[field++] as string) : a.id - b.id;
    if (order !== 0) return descending ? -order : order;
  }
  return a.id - b.id;
}

/** Returns the number of records in `ordered` that come before `key`. Binary search. */
export function indexForKey(
  key: SortKey,
  ordered: readonly number[],
  keyOf: (id: number) => SortKey,
  sort: readonly SortField[],
): number {
  let low = 0;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keyOf(ordered[middle] as number), key, sort) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns a name that is unique among the orders of a resource. */
export function nameOfSortField({ textField, descending }: SortField): string {
  return `${descending ? "-" : ""}${textSourceName(textField)}`;
}

/** Returns a name for the text of a field, of all fields, or of the ID. */
export function textSourceName(textField: TextFieldPath | typeof anyField | undefined): string {
  return textField === anyField ? "*" : (textField?.path ?? "ID");
}

function allTexts(values: StorefrontRecord | Values): string {
  return Object.values(values)
    .map((value) => (typeof value === "object" ? allTexts(value) : value))
    .join("\n");
}

/** Compares two texts. Equal texts are common, and need no collation. */
function compareTexts(a: string, b: string): number {
  return a === b ? 0 : collator.compare(a, b);
}

export interface RecordFilter {
  /** `any` for all fields and the ID together, only with `contains`; undefined for the ID. */
  readonly textField: TextFieldPath | typeof anyField | undefined;
  readonly operator: "equals" | "contains" | "in";
  /** One text; for `in`, any number of texts. */
  readonly values: readonly string[];
}

/** Returns the IDs of the records that pass every filter, in ID order. One pass over the records. */
export function* filterIds(blocks: readonly Block[], filters: readonly RecordFilter[]): Steps<number[]> {
  const byId = filters.filter(({ textField }) => !textField).map(toTest);
  const searches = filters.filter(({ textField, operator }) => textField && operator === "contains").map(toSearch);
  const byField = filters.filter(({ textField, operator }) => textField && operator !== "contains").map(toTest);
  const sources = byField.map(({ source }) => source);
  const isListed = (id: number) => byId.every(({ passes }) => passes(String(id)));
  const picked: number[] = [];
  for (const block of blocks) {
    yield;
    const { ids } = block;
    if (byId.length > 0 && !ids.some(isListed)) continue;
    const columns = block.columns(sources);
    for (const index of searchIn(block, searches)) {
      const id = ids[index] as number;
      if (isListed(id) && byField.every(({ passes }, filterIndex) => passes(columns[filterIndex]?.[index] as string)))
        picked.push(id);
    }
  }
  return picked;
}

/** A filter `contains`: its texts without upper case. */
interface Search {
  readonly source: TextSource;
  readonly parts: readonly string[];
}

function toSearch({ textField, values }: RecordFilter): Search {
  return { source: toTextSource(textField, true), parts: values.map(foldCase) };
}

/** Returns the indexes of the records of a block that pass all searches, in ascending order. */
function searchIn(block: Block, searches: readonly Search[]): Iterable<number> {
  const [first, ...others] = searches;
  if (!first) return block.ids.keys();
  let indexes = block.joinedColumn(first.source).indexesWith(first.parts);
  for (const { source, parts } of others) {
    if (indexes.length === 0) break;
    const found = new Set(block.joinedColumn(source).indexesWith(parts));
    indexes = indexes.filter((index) => found.has(index));
  }
  return indexes;
}

/** Returns for each of the `wanted` texts the records that have it in a field; nothing for a text that no record has. One pass over the records. */
export function* findIdsByTexts(
  blocks: readonly Block[],
  textField: TextFieldPath,
  wanted: ReadonlySet<string>,
): Steps<ReadonlyMap<string, FoundRecords>> {
  const sources = [toTextSource(textField)];
  const found = new Map<string, { ids: number[]; count: number }>();
  for (const block of blocks) {
    yield;
    const texts = block.columns(sources)[0] as readonly string[];
    for (let index = 0; index < texts.length; index++) {
      const text = texts[index] as string;
      if (!wanted.has(text)) continue;
      const records = found.get(text) ?? { ids: [], count: 0 };
      if (++records.count <= maxFoundIds) records.ids.push(block.ids[index] as number);
      found.set(text, records);
    }
  }
  return found;
}

/** Returns a function that tells whether a record passes every filter. */
export function toPredicate(filters: readonly RecordFilter[]): (record: BlockRecord) => boolean {
  const tests = filters.map(toTest);
  const sources = tests.map(({ source }) => source);
  return ({ block, index }) => {
    const texts = block.texts(index, sources);
    return tests.every(({ passes }, which) => passes(texts[which] as string));
  };
}

/** A filter, as a test of a text. */
interface Test {
  readonly source: TextSource;
  passes(text: string): boolean;
}

function toTest({ textField, operator, values }: RecordFilter): Test {
  if (operator === "contains") {
    const folded = values.map(foldCase);
    return { source: toTextSource(textField, true), passes: (text) => folded.some((value) => text.includes(value)) };
  }
  const wanted = new Set(values);
  return { source: toTextSource(textField), passes: (text) => wanted.has(text) };
}

/** Items that are sorted or merged between two yields. */
const itemsPerSortStep = 512;

/** Sorts `items` into a new array, with a stable merge sort in steps. */
export function* sortInSteps<T>(items: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += itemsPerSortStep) {
    runs.push(items.slice(from, from + itemsPerSortStep).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const longer: T[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const [left, right] = [runs[index] as T[], runs[index + 1]];
      longer.push(right ? yield* merged(left, right, compare) : left);
    }
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merged<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  const all: T[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const isLeft = r === right.length || (l < left.length && compare(left[l] as T, right[r] as T) <= 0);
    all.push((isLeft ? left[l++] : right[r++]) as T);
    if (all.length % itemsPerSortStep === 0) yield;
  }
  return all;
}

/** Items that are filtered between two yields, in some tens of microseconds. */
const itemsPerFilterStep = 4096;

/** Returns the items that pass, in their order. */
export function* filterInSteps<T>(items: readonly T[], passes: (item: T) => boolean): Steps<T[]> {
  const passing: T[] = [];
  for (let from = 0; from < items.length; from += itemsPerFilterStep) {
    const end = Math.min(items.length, from + itemsPerFilterStep);
    for (let index = from; index < end; index++) if (passes(items[index] as T)) passing.push(items[index] as T);
    yield;
  }
  return passing;
}
