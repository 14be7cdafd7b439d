// Finds the names that a misspelt search probably means. Each word of the search must nearly begin a word of the name, in any order; or the whole search,
// as one word, must, so that "Mc Donnalds" finds "McDonald's". Case, accents, apostrophes, and the gaps between the words of a name don't count.

import type { Steps } from "../../lib/slices.ts";
import { editDistance, foldCase } from "../../lib/text.ts";
import { valueAt } from "../../model/record.ts";
import type { TextFieldPath } from "../../model/resource.ts";
import type { Block } from "./block.ts";
import { allTextsSource } from "./order.ts";

/** Maximum characters of a name, and of the search, that are compared. */
const maxLength = 60;
/** Names that are compared between two yields, in less than half a millisecond. */
const namesPerStep = 16;
/** The number of near names at which all but the nearest are dropped. */
const maxCollected = 256;

interface NearName {
  readonly id: number;
  readonly errors: number;
  /** Edits that turn the whole search into the whole name. */
  readonly edits: number;
}

/**
 * Returns the IDs of the records whose names are nearest to a search, the nearest first; only one of several records with the same words in their names.
 * One pass over the records.
 * @param textFields those of the resource
 * @param nameField one of them
 * @param limit maximum number of names
 */
export function* findNearestNames(
  blocks: readonly Block[],
  textFields: readonly TextFieldPath[],
  nameField: TextFieldPath,
  search: string,
  limit: number,
): Steps<readonly number[]> {
  const plain = plainWords(foldCase(search));
  const words = plain.split(" ").sort((a, b) => b.length - a.length);
  const joined = plain.replaceAll(" ", "");
  // Fewer letters are near to too many names.
  if (joined.length < 3) return [];
  let near = new Map<string, NearName>();
  for (const block of blocks) {
    for (const [index, name] of namesOf(block, textFields, nameField).entries()) {
      if (index % namesPerStep === 0) yield;
      if (near.has(name)) continue;
      const parts = name.split(" ");
      let errors = errorsOf(words, parts);
      if (words.length > 1) errors = Math.min(errors, errorsOf([joined], parts));
      if (errors === Number.POSITIVE_INFINITY) continue;
      near.set(name, { id: block.ids[index] as number, errors, edits: editDistance(plain, name) });
      if (near.size === maxCollected) near = keepNearest(near, limit);
    }
  }
  return [...keepNearest(near, limit).values()].map(({ id }) => id);
}

/** The words of the names of each block, one line for each name. They're kept because a longer search often follows. */
const namesOfBlocks = new WeakMap<Block, string>();

function namesOf(block: Block, textFields: readonly TextFieldPath[], nameField: TextFieldPath): string[] {
  const known = namesOfBlocks.get(block);
  if (known !== undefined) return known.split("\n");
  // The search that found nothing has left these texts: one line for the ID, and one for each field.
  const texts = block.joinedColumn(allTextsSource);
  const line = 1 + textFields.indexOf(nameField);
  const names = block.ids.map((_, index) => {
    const lines = texts.at(index).split("\n");
    // A field with several lines hides where the others begin.
    const isClear = lines.length === 1 + textFields.length;
    return plainWords((isClear && lines[line]) || foldCase(valueAt(JSON.parse(block.json(index)), nameField)));
  });
  namesOfBlocks.set(block, names.join("\n"));
  return names;
}

/** Returns the words of a text, without accents and apostrophes, separated by spaces. @param folded without case */
function plainWords(folded: string): string {
  const letters = folded
    .slice(0, maxLength)
    .normalize("NFD")
    .replace(/[\p{M}'’`´]/gu, "");
  return (letters.match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}

/** Returns the fewest errors with which all of `words` begin words of `name`; `Infinity` if one of them has too many. */
function errorsOf(words: readonly string[], name: readonly string[]): number {
  const text = name.join("");
  let sum = 0;
  for (const word of words) {
    const { length } = word;
    const most = Math.min(2, Math.floor(length / 3));
    let fewest = Number.POSITIVE_INFINITY;
    let start = 0;
    for (const part of name) {
      const rest = text.slice(start, start + length + 1);
      if (rest.length < length - most) break;
      start += part.length;
      let errors = editDistance(word, rest.slice(0, length));
      // A letter of the word may be missing or superfluous.
      if (errors > 0 && errors <= most + 1)
        errors = Math.min(errors, editDistance(word, rest), editDistance(word, rest.slice(0, length - 1)));
      if (errors <= most && errors < fewest) fewest = errors;
    }
    sum += fewest;
    if (sum === Number.POSITIVE_INFINITY) break;
  }
  return sum;
}

function keepNearest(near: ReadonlyMap<string, NearName>, limit: number): Map<string, NearName> {
  const sorted = [...near].sort(([, a], [, b]) => a.errors - b.errors || a.edits - b.edits || a.id - b.id);
  return new Map(sorted.slice(0, limit));
}
