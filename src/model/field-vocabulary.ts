// Works out which field a name means, among the names people and programs use for fields.
//
// A wrong guess is worse than none, so every word of the name must be accounted for, and point to one field only. "Supplier tel. no." is a telephone
// number, because "supplier" is a noun for a brand. "Fax no." and "Billing city" match nothing; neither does "PLZ/Ort", which would be two fields.

import { toPlainCharacters } from "../lib/characters.ts";
import { editDistance, findSamePath, findSimilarPath, groupOf, lastOf } from "../lib/text.ts";
import { fillers, nounsOf, owners, synonymsOf } from "./field-synonyms.ts";
import { fieldPaths, type Resource } from "./resource.ts";

/** How sure a match is. A whole path is surer than its last name alone. */
export const confidence = { path: 5, lastName: 4, synonym: 3, withoutOwner: 2, misspelt: 1 } as const;

/** The field a name means. */
export interface NamedField {
  readonly field: string;
  readonly confidence: number;
}

/** What names are compared with. */
interface Names {
  /** The paths of the text fields, plus ID. */
  readonly texts: readonly string[];
  /** The paths of the groups. */
  readonly groups: readonly string[];
  readonly vocabulary: Vocabulary;
  readonly ofGroups: ReadonlyMap<string, Vocabulary>;
}

/** How many members we look at to find their group. */
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

export function vocabularyOf(resource: Resource): Vocabulary {
  return namesOf(resource).vocabulary;
}

/**
 * Returns the field or group that was probably meant by a name that doesn't exist, such as `Address.Postcode` for `zip_code`; undefined if there's no
 * good candidate.
 * @param sent the dotted path that was sent
 * @param members names of the members sent in it; undefined if it isn't an object
 */
export function findMeantField(resource: Resource, sent: string, members?: readonly string[]): string | undefined {
  if (sent.length > 200) return undefined;
  const path = toPlainCharacters(sent);
  const { texts, ...names } = namesOf(resource);
  // A group can't stand for one of its own fields.
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

class Vocabulary {
  readonly #paths: readonly string[];
  readonly #nouns: ReadonlySet<string>;
  /** Fields by synonym, whose words are in alphabetical order. */
  readonly #fields = new Map<string, Set<string>>();

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

  /** Finds the one field that a column heading means. */
  find(column: string): NamedField | undefined {
    if (column.startsWith("#") || column.length > 100) return undefined;
    return this.#findNamed(column) ?? this.findSynonym(column);
  }

  /** The same, for names other than the field's own. */
  findSynonym(column: string): NamedField | undefined {
    if (column.length > 100) return undefined;
    const words = wordsOf(column);
    const common = this.#commonField(column);
    if (common !== undefined) return { field: common, confidence: confidence.synonym };
    const remark = /\(.*?\)|\[.*?\]/g;
    const isRemarkUnknown = (column.match(remark) ?? []).every((one) => this.#isUnknown(one));
    const found = this.#findByWords(isRemarkUnknown ? wordsOf(column.replace(remark, " ")) : words);
    if (found) return found;
    const misspelt = this.#findMisspelt(toKey(words));
    return misspelt ? { field: misspelt, confidence: confidence.misspelt } : undefined;
  }

  /** Finds a field by its path, or by the path's last name if that's unique. Ignores case and punctuation. */
  #findNamed(column: string): NamedField | undefined {
    const name = normal(column);
    if (name === "") return undefined;
    const path = this.#paths.find((one) => one === column) ?? this.#paths.find((one) => normal(one) === name);
    if (path !== undefined) return { field: path, confidence: confidence.path };
    const [end, ...others] = this.#paths.filter((one) => normal(lastOf(one)) === name);
    return end !== undefined && others.length === 0 ? { field: end, confidence: confidence.lastName } : undefined;
  }

  #findByWords(words: readonly string[]): NamedField | undefined {
    const whole = this.#onlyField(words);
    if (whole) return { field: whole, confidence: confidence.synonym };
    const withoutNoun = this.#onlyField(this.#withoutNouns(words));
    if (withoutNoun) return { field: withoutNoun, confidence: confidence.withoutOwner };
    const rest = this.#withoutNouns(words.filter((word) => !owners.has(word)));
    const inGroup = this.#onlyField(rest);
    // "Contact name" isn't the name of the record, but "Contact city" is the town in its address.
    return inGroup?.includes(".") || inGroup === "Email"
      ? { field: inGroup, confidence: confidence.withoutOwner }
      : undefined;
  }

  #onlyField(words: readonly string[]): string | undefined {
    const fields = this.#fields.get(toKey(words));
    return fields?.size === 1 ? [...fields][0] : undefined;
  }

  /** Returns the field if alternative names all mean the same one, as in "Zip/Postal code". */
  #commonField(column: string): string | undefined {
    const names = column.split(/[/|,]/);
    if (names.length < 2) return undefined;
    const fields = new Set(names.map((name) => this.#onlyField(wordsOf(name))));
    return fields.size === 1 ? [...fields][0] : undefined;
  }

  #withoutNouns(words: readonly string[]): readonly string[] {
    return words.filter((word) => !this.#nouns.has(word));
  }

  /**
   * Whether a remark in brackets says nothing about fields, as in "Town (as printed)". "Phone (mobile)" would mean something else without its remark.
   */
  #isUnknown(remark: string): boolean {
    return wordsOf(remark).every((word) => !this.#fields.has(word) && !/^(fax|bank|iban)$/.test(word));
  }

  /** Finds the field with a synonym one letter away, if no other field has one as close. */
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

/** Splits a name into lower-case words without accents, and drops words without meaning: "Acct-No" and "acctNo" become "acct" and "no". */
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
