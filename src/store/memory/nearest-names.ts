// Finds the names that are most similar to a misspelt search: each of its words begins a word of the name, with few errors (lib/misspelt-words.ts). The
// words may be in another order. The search may also be one word that was split, as in "Mc Donnalds".

import { EncodedTexts, MisspeltWord, withoutAccents } from "../../lib/misspelt-words.ts";
import type { Steps } from "../../lib/slices.ts";
import { editDistance, foldCase } from "../../lib/text.ts";
import { valueAt } from "../../model/record.ts";
import type { TextFieldPath } from "../../model/resource.ts";
import type { Block } from "./block.ts";
import { allTextsSource } from "./order.ts";

/** Maximum names that are compared as a whole. */
const maxCandidates = 32;
/** Maximum characters of a name, and of the search, that are compared as a whole. */
const maxNameLength = 60;

/** A name that is near. */
interface Candidate {
  readonly id: number;
  readonly name: string;
  readonly errors: number;
}

/**
 * Returns the IDs of records whose names are nearest to a search, the nearest first; of several records with the same name, the first. One pass over
 * the records.
 * @param textFields those of the resource
 * @param nameField one of them
 * @param words those of the search
 * @param limit maximum number of names, at most 32
 */
export function* findNearestNames(
  blocks: readonly Block[],
  textFields: readonly TextFieldPath[],
  nameField: TextFieldPath,
  words: readonly string[],
  limit: number,
): Steps<readonly number[]> {
  const source = { nameField, fieldsBefore: textFields.indexOf(nameField), fields: textFields.length };
  for (const mostErrors of errorsOfPasses) {
    const search = new MisspeltSearch(words, mostErrors);
    if (!search.isLongEnough) return [];
    const near = new NearNames(withoutAccents(words.join(" ")).slice(0, maxNameLength));
    for (const block of blocks) {
      yield;
      addNear(block, source, search, near);
    }
    if (near.size > 0) return near.nearest(limit);
  }
  return [];
}

/** Maximum errors in a word: in a first pass over the names, and in a second pass, if the first one finds nothing. Most misspelt words have one error. */
const errorsOfPasses = [1, 2];

/** Adds the names of a block that are near to the search. */
function addNear(block: Block, source: NameSource, search: MisspeltSearch, near: NearNames): void {
  const names = namesOf(block, source);
  for (let index = 0; index < block.size; index++) {
    const errors = search.errorsIn(names, index);
    if (errors <= near.maxErrors) near.add(block.ids[index] as number, nameAt(block, index, source), errors);
  }
}

/** The encoded names of each block. They are kept, because a longer search often follows. */
const encodedNames = new WeakMap<Block, EncodedTexts>();

function namesOf(block: Block, source: NameSource): EncodedTexts {
  let names = encodedNames.get(block);
  if (!names) {
    names = new EncodedTexts(block.ids.map((_, index) => nameAt(block, index, source)));
    encodedNames.set(block, names);
  }
  return names;
}

/** The place of the name in the texts of a record. */
interface NameSource {
  readonly nameField: TextFieldPath;
  readonly fieldsBefore: number;
  readonly fields: number;
}

/** Returns the name of a record, from the texts that a search has read before. They have one line for the ID, and one for each field. */
function nameAt(block: Block, index: number, { nameField, fieldsBefore, fields }: NameSource): string {
  const text = block.joinedColumn(allTextsSource).at(index);
  const lines = text.split("\n");
  // A field with several lines hides where the others begin.
  if (lines.length !== 1 + fields) return foldCase(valueAt(JSON.parse(block.json(index)), nameField));
  return lines[1 + fieldsBefore] as string;
}

/** A search whose words may be misspelt. */
class MisspeltSearch {
  /** The longest first, because most names do not have it. */
  readonly #words: readonly MisspeltWord[];
  /** All words as one; undefined for a single word. */
  readonly #joined: MisspeltWord | undefined;

  constructor(words: readonly string[], mostErrors: number) {
    this.#words = words
      .map((word) => new MisspeltWord(word, mostErrors))
      .filter(({ length }) => length > 0)
      .sort((a, b) => b.length - a.length);
    if (this.#words.length > 1) this.#joined = new MisspeltWord(words.join(""), mostErrors);
  }

  /** Whether a word has enough letters to be recognized in spite of an error. */
  get isLongEnough(): boolean {
    return this.#words.some(({ maxErrors }) => maxErrors > 0);
  }

  /** Returns the fewest errors of the search in a name; `Infinity` if there are too many. */
  errorsIn(names: EncodedTexts, index: number): number {
    let sum = 0;
    for (const word of this.#words) {
      sum += word.errorsIn(names, index);
      if (sum === Number.POSITIVE_INFINITY) break;
    }
    return this.#joined ? Math.min(sum, this.#joined.errorsIn(names, index)) : sum;
  }
}

/** Collects the names with the fewest errors. */
class NearNames {
  /** The errors above which a name is not near enough any more. */
  maxErrors = Number.MAX_SAFE_INTEGER;
  readonly #search: string;
  readonly #candidates: Candidate[] = [];
  readonly #names = new Set<string>();

  constructor(search: string) {
    this.#search = search;
  }

  get size(): number {
    return this.#candidates.length;
  }

  add(id: number, fullName: string, errors: number): void {
    const name = fullName.slice(0, maxNameLength);
    if (this.#names.has(name)) return;
    this.#names.add(name);
    this.#candidates.push({ id, name, errors });
    // Sort seldom, because thousands of names can be near.
    if (this.#candidates.length < 8 * maxCandidates) return;
    this.#keepNearest();
    this.maxErrors = (this.#candidates.at(-1) as Candidate).errors;
  }

  nearest(limit: number): readonly number[] {
    this.#keepNearest();
    return this.#candidates
      .map(({ id, name, errors }) => ({ id, errors, edits: editDistance(this.#search, withoutAccents(name)) }))
      .sort((a, b) => a.errors - b.errors || a.edits - b.edits || a.id - b.id)
      .slice(0, limit)
      .map(({ id }) => id);
  }

  /** Keeps the names with the fewest errors, and of equally many, the names that are about as long as the search. */
  #keepNearest(): void {
    const { length } = this.#search;
    const off = ({ name }: Candidate) => Math.abs(name.length - length);
    this.#candidates.sort((a, b) => a.errors - b.errors || off(a) - off(b) || a.id - b.id);
    for (const { name } of this.#candidates.splice(maxCandidates)) this.#names.delete(name);
  }
}
