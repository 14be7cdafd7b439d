// Compares a misspelt word with the words of texts. Errors are letters that are missing, superfluous, wrong or swapped with their neighbour. Case, accents,
// apostrophes, and the gaps between words do not count, so "mcdonnalds" is in "Mc Donald's" with one error.
//
// The texts are encoded once, as one byte for each letter. The errors are counted with the bits of one number for all letters of the word at once (Hyyrö,
// "A bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003). So 100,000 names take some milliseconds.

import { foldCase } from "./text.ts";

/** Maximum letters of a word that count: the bits of a number, without its sign. */
const maxWordLetters = 31;
/** Maximum characters of a text that count. */
const maxTextLength = 100;

/** Returns a text without case and accents. */
export function withoutAccents(text: string): string {
  return foldCase(text).normalize("NFD").replace(/\p{M}/gu, "");
}

/** The codes of characters that are not letters. A gap separates words; a character that is left out does not. */
const gap = 1;
const leftOut = 2;
/** For each UTF-16 unit, its code; 0 if it is not known yet. Letters that differ only in case or accent have the same code; rare letters share codes. */
const codes = new Uint8Array(0x10000);

function codeOf(unit: number): number {
  let code = codes[unit] as number;
  if (code === 0) {
    code = findCode(String.fromCharCode(unit));
    codes[unit] = code;
  }
  return code;
}

function findCode(character: string): number {
  if (/['’`´]/.test(character)) return leftOut;
  if (/[\s\p{P}\p{S}\p{Cc}]/u.test(character)) return gap;
  const plain = withoutAccents(character);
  if (plain === "") return leftOut;
  const unit = plain.charCodeAt(0);
  return unit < 128 ? unit : 128 + (unit % 128);
}

/** Returns the bit of a letter in a set of letters. */
function bitOf(code: number): number {
  return 1 << (code >= 97 && code <= 122 ? code - 97 : 26 + (code % 6));
}

/** Some texts, encoded for comparisons. They take about as many bytes as letters. */
export class EncodedTexts {
  /** The codes of all texts. */
  readonly codes: Uint8Array;
  /** The offset at which each text begins, and at last the end. */
  readonly starts: Uint16Array;
  /** The set of letters of each text, as bits. */
  readonly sets: Int32Array;

  /** @param texts at most 500. Only the first 100 characters of each count */
  constructor(texts: readonly string[]) {
    const all = new Uint8Array(texts.length * maxTextLength);
    this.starts = new Uint16Array(texts.length + 1);
    this.sets = new Int32Array(texts.length);
    let length = 0;
    for (let number = 0; number < texts.length; number++) {
      const text = texts[number] as string;
      let set = 0;
      for (let index = 0; index < text.length && index < maxTextLength; index++) {
        const code = codeOf(text.charCodeAt(index));
        if (code === leftOut) continue;
        if (code !== gap) set |= bitOf(code);
        all[length++] = code;
      }
      this.starts[number + 1] = length;
      this.sets[number] = set;
    }
    this.codes = all.slice(0, length);
  }
}

/** A word that may be misspelt. */
export class MisspeltWord {
  /** The number of its letters. */
  readonly length: number;
  readonly maxErrors: number;
  readonly #set: number;
  /** For each code, the bits of its places in the word. */
  readonly #places = new Int32Array(256);

  /** @param mostErrors maximum errors, if the length of the word allows more */
  constructor(text: string, mostErrors: number) {
    const letters = Array.from({ length: text.length }, (_, index) => codeOf(text.charCodeAt(index)))
      .filter((code) => code > leftOut)
      .slice(0, maxWordLetters);
    this.length = letters.length;
    // A word of few different letters is near to too many texts.
    this.maxErrors = Math.max(0, Math.min(mostErrors, maxErrorsOf(letters.length), new Set(letters).size - 1));
    this.#set = letters.reduce((set, code) => set | bitOf(code), 0);
    letters.forEach((code, index) => {
      this.#places[code] = (this.#places[code] as number) | (1 << index);
    });
  }

  /** Returns the fewest errors with which the word begins any word of a text; `Infinity` if there are too many. */
  errorsIn({ codes: all, starts, sets }: EncodedTexts, number: number): number {
    if (!this.#mayBeIn(sets[number] as number)) return Number.POSITIVE_INFINITY;
    const end = starts[number + 1] as number;
    let fewest = this.maxErrors + 1;
    let before = gap;
    for (let index = starts[number] as number; index < end && fewest > 0; index++) {
      const code = all[index] as number;
      if (before === gap && code !== gap) fewest = this.#errorsFrom(all, index, end, fewest);
      before = code;
    }
    return fewest > this.maxErrors ? Number.POSITIVE_INFINITY : fewest;
  }

  /** Whether a text with this set of letters may have the word: each error can replace only one letter. */
  #mayBeIn(set: number): boolean {
    let missing = this.#set & ~set;
    for (let errors = 0; missing !== 0; errors++) {
      if (errors === this.maxErrors) return false;
      missing &= missing - 1;
    }
    return true;
  }

  /** Returns the fewest errors of the word in the codes from `start`, where the word must begin, to any place before `end`; at most `most`. */
  #errorsFrom(all: Uint8Array, start: number, end: number, most: number): number {
    const places = this.#places;
    const last = 1 << (this.length - 1);
    // The bits say where the number of errors changes from one letter of the word to the next (`up`, `down`), and which letters can match (`same`).
    let up = -1;
    let down = 0;
    let same = 0;
    let equalBefore = 0;
    let errors = this.length;
    let fewest = most;
    // Each letter saves one error at most, and the text has no more letters to save than the word, with its errors.
    let left = this.length + most - 1;
    for (let index = start; index < end && errors - left < fewest; index++) {
      const code = all[index] as number;
      if (code === gap) continue;
      left--;
      const equal = places[code] as number;
      const swapped = ((~same & equal) << 1) & equalBefore;
      same = ((((equal & up) + up) | 0) ^ up) | equal | down | swapped;
      const right = down | ~(same | up);
      const back = same & up;
      if (right & last) errors++;
      else if (back & last && --errors < fewest) fewest = errors;
      const shifted = (right << 1) | 1;
      up = (back << 1) | ~(same | shifted);
      down = shifted & same;
      equalBefore = equal;
    }
    return fewest;
  }
}

function maxErrorsOf(length: number): number {
  if (length < 3) return 0;
  return length < 5 ? 1 : 2;
}
