// The filters and sort orders of a list, and the texts of records that they compare.

import type { Steps } from "../../lib/slices.ts";
import { foldCase } from "../../lib/text.ts";
import { type FoundRecords, maxFoundIds } from "../../model/change.ts";
import { type StorefrontRecord, type Values, valueAt } from "../../model/record.ts";
import type { TextFieldPath } from "../../model/resource.ts";
import type { Block, BlockRecord, TextSource } from "./block.ts";

/** Stands for the ID and all fields together, one line each. */
export const anyField = "any";

/**
 * Returns the text source for a field, for everything (`anyField`), or for the ID if `textField` is undefined.
 * @param folded whether to ignore case
 */
export function toTextSource(textField: TextFieldPath | typeof anyField | undefined, folded = false): TextSource {
  const of = (record: StorefrontRecord) => {
    if (textField === anyField) return allTexts(record);
    return textField ? valueAt(record, textField) : String(record.ID);
  };
  const name = textSourceName(textField);
  return folded ? { name: `${name}~`, of: (record) => foldCase(of(record)) } : { name, of };
}

/** Everything, ignoring case. Searches use it, so it's usually cached. */
export const allTextsSource = toTextSource(anyField, true);

export interface SortField {
  /** Undefined for the ID. */
  readonly textField: TextFieldPath | undefined;
  readonly descending: boolean;
}

// The Unicode root collation, which sorts names as people expect, whatever the server's locale.
const collator = new Intl.Collator("und");

export interface SortKey {
  readonly id: number;
  /** One for each of the order's text sources (`sourcesOf`). */
  readonly texts: readonly string[];
}

/** Returns the text sources of an order: its fields, without the ID. */
export function sourcesOf(sort: readonly SortField[]): readonly TextSource[] {
  return sort.flatMap(({ textField }) => (textField ? [toTextSource(textField)] : []));
}

/** Returns a negative number if `a` comes before `b`, and a positive one if it comes after. Only the same record gives 0. */
export function compareKeys(a: SortKey, b: SortKey, sort: readonly SortField[]): number {
  let field = 0;
  for (const { textField, descending } of sort) {
    const order = textField ? compareTexts(a.texts[field] as string, b.texts[field++] as string) : a.id - b.id;
    if (order !== 0) return descending ? -order : order;
  }
  return a.id - b.id;
}

/** Returns how many records in `ordered` come before `key`, by binary search. */
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

/** Returns a name that's unique among a resource's orders. */
export function nameOfSortField({ textField, descending }: SortField): string {
  return `${descending ? "-" : ""}${textSourceName(textField)}`;
}

export function textSourceName(textField: TextFieldPath | typeof anyField | undefined): string {
  return textField === anyField ? "*" : (textField?.path ?? "ID");
}

function allTexts(values: StorefrontRecord | Values): string {
  return Object.values(values)
    .map((value) => (typeof value === "object" ? allTexts(value) : value))
    .join("\n");
}

/** Equal texts are common and don't need collation. */
function compareTexts(a: string, b: string): number {
  return a === b ? 0 : collator.compare(a, b);
}

export interface RecordFilter {
  /** `any` for the ID and all fields together, only with `contains`; undefined for the ID. */
  readonly textField: TextFieldPath | typeof anyField | undefined;
  readonly operator: "equals" | "contains" | "in";
  /** Any number for `in`, otherwise one. */
  readonly values: readonly string[];
}

/** Returns the IDs of the records that pass every filter, in ID order. Takes one pass over the records. */
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

/** A `contains` filter, with case folded. */
interface Search {
  readonly source: TextSource;
  readonly parts: readonly string[];
}

function toSearch({ textField, values }: RecordFilter): Search {
  return { source: toTextSource(textField, true), parts: values.map(foldCase) };
}

/** Returns the indexes of a block's records that pass all searches, in ascending order. */
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

/** Returns the records for each of the `wanted` texts in a field, and nothing for those that don't occur. Takes one pass over the records. */
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

/** Items sorted or merged between two yields. */
const itemsPerSortStep = 512;

/** A stable merge sort into a new array. */
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

/** Items filtered between two yields, in some tens of microseconds. */
const itemsPerFilterStep = 4096;

export function* filterInSteps<T>(items: readonly T[], passes: (item: T) => boolean): Steps<T[]> {
  const passing: T[] = [];
  for (let from = 0; from < items.length; from += itemsPerFilterStep) {
    const end = Math.min(items.length, from + itemsPerFilterStep);
    for (let index = from; index < end; index++) if (passes(items[index] as T)) passing.push(items[index] as T);
    yield;
  }
  return passing;
}
