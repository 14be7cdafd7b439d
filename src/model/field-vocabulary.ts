// The names that people and programs give to fields, and the field that they mean.
//
// A wrong guess is worse than none, so a name must mean one field and nothing else: all its words must be explained. "Supplier tel. no." is a telephone,
// because "supplier" is a noun for a brand. "Fax no." and "Billing city" mean no field, and neither does "PLZ/Ort", which would mean two.

import { toPlainCharacters } from "../lib/characters.ts";
import { editDistance, findSamePath, findSimilarPath, groupOf, lastOf } from "../lib/text.ts";
import { fillers, nounsOf, owners, synonymsOf } from "./field-synonyms.ts";
import { fieldPaths, type Resource } from "./resource.ts";

/** How sure a field is, from its name. A name with its group is surer than the last name of a path alone. */
export const sureness = { path: 5, lastName: 4, synonym: 3, withoutOwner: 2, misspelt: 1 } as const;

/** The field that a name means. */
export interface NamedField {
  readonly field: string;
  readonly sureness: number;
}

/** What names are compared with. */
interface Names {
  /** The paths of the text fields, and ID. */
  readonly texts: readonly string[];
  /** The paths of the groups. */
  readonly groups: readonly string[];
  readonly vocabulary: Vocabulary;
  /** The vocabulary of each group. */
  readonly ofGroups: ReadonlyMap<string, Vocabulary>;
}

/** Maximum members whose group is searched for. */
const maxMembers = 3;

const namesOfResources = new WeakMap<Resource, Names>();

function namesOf(resource: Resource): Names {
  let names = namesOfResources.get(resource);
  if (!names) {
    const texts = ["ID", ...resource.textFields.map(({ path }) => path)];
    const groups = fieldPaths(resource).filter((path) => !texts.includes(path));
    const within = (group: string) => texts.filter((path) => path.startsWith(`${group}.`));
    const ofGroups = new Map(groups.map((group) => [group, new Vocabulary(resource, within(group))]));
    names = { texts, groups, vocabulary: new Vocabulary(resource, texts), ofGroups };
    namesOfResources.set(resource, names);
  }
  return names;
}

/** Returns the vocabulary of a resource. */
export function vocabularyOf(resource: Resource): Vocabulary {
  return namesOf(resource).vocabulary;
}

/**
 * Returns the path of the field or group that was probably meant by a name that doesn't exist: `Address.Postcode` for `zip_code`. Returns undefined if
 * no field is likely.
 * @param sent the dotted path of the name
 * @param members the names of the members that were sent in it; undefined if it has none
 */
export function findMeantField(resource: Resource, sent: string, members?: readonly string[]): string | undefined {
  if (sent.length > 200) return undefined;
  const path = toPlainCharacters(sent);
  const { texts, ...names } = namesOf(resource);
  // A group is never meant in itself.
  const groups = names.groups.filter((one) => !path.startsWith(`${one}.`));
  const digits = digitsOf(lastOf(path));
  // "Line 3" is neither line 1 nor line 2.
  const similar = (paths: readonly string[]) =>
    findSimilarPath(path, digits === "" ? paths : paths.filter((one) => digitsOf(one) === digits));
  const synonym = () => {
    const name = lastOf(path);
    const own = names.ofGroups.get(groupOf(path).slice(0, -1));
    return (own?.findSynonym(name) ?? names.vocabulary.findSynonym(name))?.field;
  };
  if (!members) return findSamePath(path, texts) ?? synonym() ?? similar(texts) ?? similar(groups);
  const groupOfField = (field = "") => groups.find((one) => field.startsWith(`${one}.`));
  return (
    findSamePath(path, groups) ??
    similar(groups) ??
    groupOfField(synonym()) ??
    groupOfField(
      members
        .slice(0, maxMembers)
        .map((name) => findSamePath(name, texts))
        .find((one) => groupOfField(one)),
    ) ??
    findMeantField(resource, sent)
  );
}

/** The names by which fields are recognized. */
class Vocabulary {
  readonly #paths: readonly string[];
  readonly #nouns: ReadonlySet<string>;
  /** The fields of each synonym, with its words in alphabetical order. */
  readonly #fields = new Map<string, Set<string>>();

  /** @param paths those of the fields */
  constructor(resource: Resource, paths: readonly string[]) {
    this.#paths = paths;
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

  /** Finds the one field that the name of a column means. */
  find(column: string): NamedField | undefined {
    if (column.startsWith("#") || column.length > 100) return undefined;
    return this.#findNamed(column) ?? this.findSynonym(column);
  }

  /** Finds the one field that another name means. */
  findSynonym(column: string): NamedField | undefined {
    if (column.length > 100) return undefined;
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
  #findNamed(column: string): NamedField | undefined {
    const name = normal(column);
    if (name === "") return undefined;
    const path = this.#paths.find((one) => one === column) ?? this.#paths.find((one) => normal(one) === name);
    if (path !== undefined) return { field: path, sureness: sureness.path };
    const [end, ...others] = this.#paths.filter((one) => normal(lastOf(one)) === name);
    return end !== undefined && others.length === 0 ? { field: end, sureness: sureness.lastName } : undefined;
  }

  #findByWords(words: readonly string[]): NamedField | undefined {
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
      if (synonym.length < 5 || Math.abs(synonym.length - name.length) > 1) continue;
      // "Phone 2" is not "Phone 1".
      if (editDistance(name, synonym) > 1 || digitsOf(synonym) !== digitsOf(name)) continue;
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
