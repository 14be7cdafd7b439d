// Finds the names that a misspelt search was probably looking for. Each of its words, in any order, must nearly be the start of a word in the name.
// Or all of them joined must be, so that "Mc Donnalds" finds "McDonald's". Case, accents, apostrophes, and gaps between the words of a name don't
// count.

import type { Steps } from "../../lib/slices.ts";
import { editDistance, foldCase } from "../../lib/text.ts";
import { valueAt } from "../../model/record.ts";
import type { TextFieldPath } from "../../model/resource.ts";
import type { Block } from "./block.ts";
import { allTextsSource } from "./order.ts";

/** Maximum characters compared, of a name and of the search. */
const maxLength = 60;
/** Names compared between two yields, in less than half a millisecond. */
const namesPerStep = 16;
/** How many near names to collect before dropping all but the nearest. */
const maxCollected = 256;

interface NearName {
  readonly id: number;
  readonly errors: number;
  /** Edits that turn the whole search into the whole name. */
  readonly edits: number;
}

/**
 * Returns the IDs of the records with the nearest names, nearest first. If several names have the same words, only one of their records is returned.
 * Takes one pass over the records.
 * @param textFields all those of the resource
 * @param nameField one of them
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
  // Shorter searches are near too many names.
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

/** The words of each name in a block, one name per line. Kept because a longer search often follows. */
const namesOfBlocks = new WeakMap<Block, string>();

function namesOf(block: Block, textFields: readonly TextFieldPath[], nameField: TextFieldPath): string[] {
  const known = namesOfBlocks.get(block);
  if (known !== undefined) return known.split("\n");
  // Cached by the search that found nothing: one line for the ID and one per field.
  const texts = block.joinedColumn(allTextsSource);
  const line = 1 + textFields.indexOf(nameField);
  const names = block.ids.map((_, index) => {
    const lines = texts.at(index).split("\n");
    // If a field has several lines, we can't tell where the others start.
    const isClear = lines.length === 1 + textFields.length;
    return plainWords((isClear && lines[line]) || foldCase(valueAt(JSON.parse(block.json(index)), nameField)));
  });
  namesOfBlocks.set(block, names.join("\n"));
  return names;
}

/** Returns the words of a text without accents and apostrophes, separated by spaces. @param folded already without case */
function plainWords(folded: string): string {
  const letters = folded
    .slice(0, maxLength)
    .normalize("NFD")
    .replace(/[\p{M}'’`´]/gu, "");
  return (letters.match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}

/** Returns the fewest errors with which `words` all match the start of words in `name`; `Infinity` if one of them has too many. */
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
      // The word may have a letter too few or too many.
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
