// Searches and sorts the records of a small site in the page. The results are those of the server: operator/records/read-records.ts and store/memory/order.ts
// have the same rules.

import type { RecordResponse } from "../../admin/api/record-types.ts";
import { textAt } from "../text/fields.ts";

export interface ListQuery {
  readonly search: string;
  /** A field, or `ID`. */
  readonly by: string;
  readonly isDescending: boolean;
}

/** Maximum words of a search. Further words are ignored. */
const maxWords = 8;
/** English has the root order of Unicode, which the server uses whatever its locale is. */
const collator = new Intl.Collator("en");
/** The text of each record that searches look into, made at the first search. */
const searchTexts = new WeakMap<RecordResponse, string>();

/** Returns the records in the order of a list, without its search. */
export function sortRecords(
  records: readonly RecordResponse[],
  { by, isDescending }: Pick<ListQuery, "by" | "isDescending">,
): readonly RecordResponse[] {
  const direction = isDescending ? -1 : 1;
  const idOf = ({ record: { ID } }: RecordResponse) => ID;
  if (by === "ID") return [...records].sort((a, b) => direction * (idOf(a) - idOf(b)));
  const keyed = records.map((item) => ({ item, text: textAt(item.record, by) }));
  keyed.sort((a, b) => {
    const order = a.text === b.text ? 0 : collator.compare(a.text, b.text);
    return direction * order || idOf(a.item) - idOf(b.item);
  });
  return keyed.map(({ item }) => item);
}

/** Returns the records that have every word of a search in their ID or in one of their fields, ignoring case. */
export function searchRecords(records: readonly RecordResponse[], search: string): readonly RecordResponse[] {
  const words = search.split(/\s+/).filter(Boolean).slice(0, maxWords);
  if (words.length === 0) return records;
  // `é` is one character or two, with the same look.
  const forms = words.map((word) => [...new Set([word, word.normalize("NFC"), word.normalize("NFD")].map(foldCase))]);
  return records.filter((item) => {
    const text = searchTextOf(item);
    return forms.every((all) => all.some((form) => text.includes(form)));
  });
}

function searchTextOf(item: RecordResponse): string {
  const known = searchTexts.get(item);
  if (known !== undefined) return known;
  const text = foldCase(allTexts(item.record));
  searchTexts.set(item, text);
  return text;
}

function allTexts(values: object): string {
  return Object.values(values)
    .map((value) => (typeof value === "object" ? allTexts(value) : value))
    .join("\n");
}

/** The same as in lib/text.ts: `ß` and `ẞ` are equal, and `σ` and `ς`. */
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");
}
