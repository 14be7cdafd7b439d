// Guesses which column of a file becomes which field, from the names of the columns and from their first cells.
//
// A wrong guess is worse than none, so a name must mean one field and nothing else: all its words must be explained. "Supplier tel. no." is a telephone,
// because "supplier" is a noun for a brand. "Fax no." and "Billing city" are not guessed, and neither is "PLZ/Ort", which has two fields in one column.
//
// An example: the columns "Brand name", "Tel.", "Zip/Postcode" and "Contry" become Name, Telephone.Daytime, Address.Postcode and Address.Country. The first
// three are synonyms (field-synonyms.ts); "Contry" is one letter away from a synonym, and further from those of all other fields.

import { fieldNames } from "../../../formats/csv.ts";
import { editDistance } from "../../../lib/text.ts";
import type { Resource } from "../../../model/resource.ts";
import { fillers, nounsOf, owners, synonymsOf } from "./field-synonyms.ts";

interface NamedColumn {
  readonly name: string;
  /** The cells of the column in the first rows. */
  readonly samples: readonly string[];
}

/** The field of a column. */
interface ColumnField {
  /** The path of the field, or ID; undefined if no field is likely. */
  readonly field: string | undefined;
  /** Whether the name of the column is not the name of the field. */
  readonly isGuessed: boolean;
}

/** How sure a field is, from the name of its column. A name with its group is surer than the last name of a path alone. */
const sureness = { path: 5, lastName: 4, synonym: 3, withoutOwner: 2, misspelt: 1 } as const;

interface Candidate {
  readonly column: number;
  readonly field: string;
  readonly sureness: number;
}

const noField: ColumnField = { field: undefined, isGuessed: false };

/**
 * Finds the field of each column. One field has at most one column: the surest, then the first. A column whose name is not unique has none.
 * @param columns at most 1,000
 */
export function guessFields(resource: Resource, columns: readonly NamedColumn[]): readonly ColumnField[] {
  const names = columns.map(({ name }) => name);
  const vocabulary = new Vocabulary(resource);
  const candidates = columns.flatMap(({ name, samples }, column): Candidate[] => {
    if (names.indexOf(name) !== names.lastIndexOf(name)) return [];
    const found = vocabulary.find(name);
    return found && canHaveValues(found, samples) ? [{ ...found, column }] : [];
  });
  const chosen = new Map<string, Candidate>();
  for (const one of candidates) if ((chosen.get(one.field)?.sureness ?? 0) < one.sureness) chosen.set(one.field, one);
  return withoutPersonNames(columns, candidates, chosen);
}

/**
 * Returns the chosen fields. Beside a column with first names, a column that is only called "Name" or "Nom" has the names of people: it becomes the
 * surname if another column has the name of the record, otherwise nothing.
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
      chosen.set(surname, { column: name.column, field: surname, sureness: sureness.misspelt });
    }
  }
  const byColumn = new Map([...chosen.values()].map((one) => [one.column, one]));
  return columns.map((_, index) => {
    const one = byColumn.get(index);
    return one ? { field: one.field, isGuessed: one.sureness < sureness.lastName } : noField;
  });
}

/** The names by which columns of one resource are recognized. */
class Vocabulary {
  readonly #paths: readonly string[];
  readonly #nouns: ReadonlySet<string>;
  /** The fields of each synonym, with its words in alphabetical order. */
  readonly #fields = new Map<string, Set<string>>();

  constructor(resource: Resource) {
    this.#paths = fieldNames(resource);
    const own = [resource.singular, resource.plural, resource.name, resource.element];
    this.#nouns = new Set([...own, ...(nounsOf[resource.name] ?? [])].map((noun) => wordsOf(noun).join(" ")));
    for (const path of this.#paths) {
      if (path === "ID") continue;
      this.#add(wordsOf(lastOf(path)).join(" "), path);
      for (const synonym of synonymsOf[lastOf(path)] ?? [])
        for (const noun of synonym.includes("{noun}") ? this.#nouns : [""])
          this.#add(synonym.replace("{noun}", noun), path);
    }
  }

  /** Finds the one field that a column name means. */
  find(column: string): Omit<Candidate, "column"> | undefined {
    if (column.startsWith("#") || column.length > 100) return undefined;
    const named = this.#findNamed(column);
    if (named) return named;
    const words = wordsOf(column);
    const common = this.#commonField(column);
    if (common !== undefined) return { field: common, sureness: sureness.synonym };
    const remark = /\(.*?\)|\[.*?\]/g;
    const isRemarkUnknown = (column.match(remark) ?? []).every((one) => this.#isUnknown(one));
    const found = this.#findByWords(isRemarkUnknown ? wordsOf(column.replace(remark, " ")) : words);
    if (found) return found;
    const misspelt = this.#findMisspelt(toKey(words));
    return misspelt ? { field: misspelt, sureness: sureness.misspelt } : undefined;
  }

  /** Finds the field with this name: by its path, or by the last name of the path if only one field has it. Ignores case and punctuation. */
  #findNamed(column: string): Omit<Candidate, "column"> | undefined {
    const name = normal(column);
    if (name === "") return undefined;
    const path = this.#paths.find((one) => one === column) ?? this.#paths.find((one) => normal(one) === name);
    if (path !== undefined) return { field: path, sureness: sureness.path };
    const [end, ...others] = this.#paths.filter((one) => normal(lastOf(one)) === name);
    return end !== undefined && others.length === 0 ? { field: end, sureness: sureness.lastName } : undefined;
  }

  #findByWords(words: readonly string[]): Omit<Candidate, "column"> | undefined {
    const whole = this.#onlyField(words);
    if (whole) return { field: whole, sureness: sureness.synonym };
    const withoutNoun = this.#onlyField(this.#withoutNouns(words));
    if (withoutNoun) return { field: withoutNoun, sureness: sureness.withoutOwner };
    const rest = this.#withoutNouns(words.filter((word) => !owners.has(word)));
    const inGroup = this.#onlyField(rest);
    // "Contact name" is not the name of the record, but "Contact city" is the town of its address.
    return inGroup?.includes(".") || inGroup === "Email"
      ? { field: inGroup, sureness: sureness.withoutOwner }
      : undefined;
  }

  #onlyField(words: readonly string[]): string | undefined {
    const fields = this.#fields.get(toKey(words));
    return fields?.size === 1 ? [...fields][0] : undefined;
  }

  /** Returns the field that each of several names means, as in "Zip/Postal code". */
  #commonField(column: string): string | undefined {
    const names = column.split(/[/|,]/);
    if (names.length < 2) return undefined;
    const fields = new Set(names.map((name) => this.#onlyField(wordsOf(name))));
    return fields.size === 1 ? [...fields][0] : undefined;
  }

  #withoutNouns(words: readonly string[]): readonly string[] {
    return words.filter((word) => !this.#nouns.has(word));
  }

  /** Whether a remark in brackets says nothing about fields: "Town (as printed)". "Phone (mobile)" has another meaning without its remark. */
  #isUnknown(remark: string): boolean {
    return wordsOf(remark).every((word) => !this.#fields.has(word) && !/^(fax|bank|iban)$/.test(word));
  }

  /** Finds the field of a synonym that is one letter away, if those of all other fields are further away. */
  #findMisspelt(name: string): string | undefined {
    if (name.length < 6 || name.length > 40) return undefined;
    const near = new Set<string>();
    for (const [synonym, fields] of this.#fields) {
      // "Phone 2" is not "Phone 1".
      if (synonym.length < 5 || digitsOf(synonym) !== digitsOf(name)) continue;
      if (Math.abs(synonym.length - name.length) > 1 || editDistance(name, synonym) > 1) continue;
      for (const field of fields) near.add(field);
    }
    return near.size === 1 ? [...near][0] : undefined;
  }

  #add(synonym: string, path: string): void {
    const key = toKey(wordsOf(synonym));
    const fields = this.#fields.get(key);
    if (fields) fields.add(path);
    else this.#fields.set(key, new Set([path]));
  }
}

/** Splits a name into words in lower case without accents: "Acct-No" and "acctNo" have the words "acct" and "no". Words without a meaning are left out. */
function wordsOf(name: string): string[] {
  const plain = name
    .replace(/ß/g, "ss")
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{L})(\d)/gu, "$1 $2")
    .replace(/(\d)(\p{L})/gu, "$1 $2")
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .toLowerCase();
  return plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "" && !fillers.has(word));
}

function digitsOf(name: string): string {
  return name.replace(/\D/g, "");
}

function toKey(words: readonly string[]): string {
  return [...words].sort().join(" ");
}

function normal(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** Fields whose values have digits. */
const withDigits = new Set(["AccountNumber", "Postcode", "Daytime", "Evening", "Mobile"]);
/** Fields whose values are words. */
const withLetters = new Set(["Name", "Town", "County", "Country", "Firstname", "Surname", "Manager", "AddressLine1"]);

/** Whether the first cells of a column can be values of its field. A column that has the path of the field as its name always is. */
function canHaveValues({ field, sureness: sure }: Omit<Candidate, "column">, samples: readonly string[]): boolean {
  const texts = samples.map((sample) => sample.trim()).filter((sample) => sample !== "");
  if (texts.length === 0 || sure === sureness.path) return true;
  const last = lastOf(field);
  // Titles of goods are longer than those of people.
  if (last === "Title" && texts.some((text) => text.length > 15)) return false;
  if (sure === sureness.lastName) return true;
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
