// Searches and sorts a small site's records in the page, with the same results as on the server (operator/records/read-records.ts and
// store/memory/order.ts).

import type { RecordResponse } from "../../admin/api/record-types.ts";
import { textAt } from "../text/fields.ts";

export interface ListQuery {
  readonly search: string;
  /** A field, or `ID`. */
  readonly by: string;
  readonly isDescending: boolean;
}

/** Only this many words of a search are used. */
const maxWords = 8;
/** English uses Unicode's root order, as the server does whatever its locale. */
const collator = new Intl.Collator("en");
/** The text of each record that is searched, built at the first search. */
const searchTexts = new WeakMap<RecordResponse, string>();

/** Sorts records as the list is sorted, ignoring its search. */
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

/** Returns the records whose ID or fields contain every word of the search, ignoring case. */
export function searchRecords(records: readonly RecordResponse[], search: string): readonly RecordResponse[] {
  const words = search.split(/\s+/).filter(Boolean).slice(0, maxWords);
  if (words.length === 0) return records;
  // `é` can be one character or two that look the same.
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

/** As in lib/text.ts: `ß` equals `ẞ`, and `σ` equals `ς`. */
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");
}
