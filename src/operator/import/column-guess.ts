// Guesses which column becomes which field, from column names and the first cells.
//
// A wrong guess is worse than none, so every word of a name must fit the field. "Supplier tel. no." is a phone number, because "supplier" is a word for
// a brand. But there's no guess for "Fax no." or "Billing city", nor for "PLZ/Ort", which is two fields in one column.
//
// For example, "Brand name", "Tel.", "Zip/Postcode" and "Contry" become Name, Telephone.Daytime, Address.Postcode and Address.Country. The first three
// are synonyms (model/field-synonyms.ts). "Contry" is one letter away from a synonym, and further from those of any other field.

import { columnLetter } from "../../formats/table.ts";
import { lastOf } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { confidence, type NamedField, vocabularyOf } from "../../model/field-vocabulary.ts";
import type { Resource } from "../../model/resource.ts";
import { columnKey, type Table } from "./open-table.ts";

interface NamedColumn {
  readonly name: string;
  /** Cells from the first rows. */
  readonly samples: readonly string[];
}

interface ColumnField {
  /** The field's path or ID, if one is likely. */
  readonly field: string | undefined;
  /** Whether the column isn't simply named after the field. */
  readonly isGuessed: boolean;
}

interface Candidate extends NamedField {
  readonly column: number;
}

/** A column of a file. */
interface FileColumn extends NamedColumn, ColumnField {
  readonly letter: string;
  /** What a mapping calls it. */
  readonly key: string;
}

/** Rows that samples are from. */
const sampledRows = 5;
/** In characters. */
const maxSampleLength = 200;
/** More can't be shown or guessed. */
export const maxColumns = 1000;

/** Describes the columns that have a name or content, and guesses their fields. @throws ProblemError `bad-request` if there are too many */
export function describeColumns(resource: Resource, { header, below, width }: Table): readonly FileColumn[] {
  if (width > maxColumns)
    throw new ProblemError(
      "bad-request",
      `the table has more than ${maxColumns} columns; check its delimiter and header row`,
    );
  const columns = Array.from({ length: width }, (_, index) => ({
    letter: columnLetter(index),
    name: header.number > 0 ? (header.cells[index] ?? "") : "",
    key: columnKey(header, index),
    samples: below.slice(0, sampledRows).map(({ cells }) => (cells[index] ?? "").slice(0, maxSampleLength)),
  }));
  const fields = guessFields(resource, columns);
  return columns.map((column, index) => ({ ...column, ...(fields[index] ?? noField) }));
}

const noField: ColumnField = { field: undefined, isGuessed: false };

/**
 * Each field gets at most one column: the surest guess, or the first of equals. Columns with the same name get none.
 * @param columns at most 1,000
 */
export function guessFields(resource: Resource, columns: readonly NamedColumn[]): readonly ColumnField[] {
  const names = columns.map(({ name }) => name);
  const vocabulary = vocabularyOf(resource);
  const candidates = columns.flatMap(({ name, samples }, column): Candidate[] => {
    if (names.indexOf(name) !== names.lastIndexOf(name)) return [];
    const found = vocabulary.find(name);
    return found && canHaveValues(found, samples) ? [{ ...found, column }] : [];
  });
  const chosen = new Map<string, Candidate>();
  for (const one of candidates)
    if ((chosen.get(one.field)?.confidence ?? 0) < one.confidence) chosen.set(one.field, one);
  return withoutPersonNames(columns, candidates, chosen);
}

/**
 * Next to a column of first names, one that's just called "Name" or "Nom" is about people. It becomes the surname if another column can be the record's
 * name, and otherwise nothing.
 */
function withoutPersonNames(
  columns: readonly NamedColumn[],
  candidates: readonly Candidate[],
  chosen: Map<string, Candidate>,
): readonly ColumnField[] {
  const lastNamed = (last: string) => [...chosen.values()].find(({ field }) => lastOf(field) === last);
  const [name, first] = [chosen.get("Name"), lastNamed("Firstname")];
  const isPerson =
    name && first && !lastNamed("Surname") && /^\s*(name|nom)\s*$/i.test(columns[name.column]?.name ?? "");
  if (isPerson) {
    chosen.delete("Name");
    const other = candidates.find(({ field, column }) => field === "Name" && column !== name.column);
    if (other) {
      chosen.set("Name", other);
      const surname = first.field.replace(/Firstname$/, "Surname");
      chosen.set(surname, { column: name.column, field: surname, confidence: confidence.misspelt });
    }
  }
  const byColumn = new Map([...chosen.values()].map((one) => [one.column, one]));
  return columns.map((_, index) => {
    const one = byColumn.get(index);
    return one ? { field: one.field, isGuessed: one.confidence < confidence.lastName } : noField;
  });
}

/** Fields whose values usually have digits. */
const withDigits = new Set(["AccountNumber", "Postcode", "Daytime", "Evening", "Mobile"]);
/** Fields whose values are words. */
const withLetters = new Set(["Name", "Town", "County", "Country", "Firstname", "Surname", "Manager", "AddressLine1"]);

/** Whether the first cells can be values of the field. They always are if the column's name is the field's path. */
function canHaveValues({ field, confidence: sure }: NamedField, samples: readonly string[]): boolean {
  const texts = samples.map((sample) => sample.trim()).filter((sample) => sample !== "");
  if (texts.length === 0 || sure === confidence.path) return true;
  const last = lastOf(field);
  // People's titles are short; longer ones are product titles.
  if (last === "Title" && texts.some((text) => text.length > 15)) return false;
  if (sure === confidence.lastName) return true;
  if (
    texts.every((text) =>
      /^(yes|no|true|false|(in)?active|enabled|disabled|open|closed|ja|nein|oui|non|x|[01])$/i.test(text),
    )
  )
    return false;
  if (last === "Email") return texts.some((text) => text.includes("@"));
  if (withDigits.has(last)) return texts.some((text) => /\d/.test(text)) && !texts.some((text) => text.includes("@"));
  if (withLetters.has(last))
    return texts.some((text) => /\p{L}/u.test(text)) && !texts.every((text) => /@|^https?:/.test(text));
  return true;
}
