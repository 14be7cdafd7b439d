// A workbook's shared strings.

import { openScratch } from "../../lib/scratch-database.ts";
import { withTemporaryFileErrors } from "../../model/errors.ts";
import { tooLargeError, workbookLimits } from "./workbook-limits.ts";

const withScratchErrors = withTemporaryFileErrors("can't keep the workbook's texts in a temporary file");

/** Strings per row of the table. */
const blockSize = 32;

/** How much of the table to keep in memory, in UTF-16 units. Cells that are near each other usually have texts that are, too. */
const maxCached = 1 << 20;

/**
 * Keeps the strings in a temporary file, which the runtime deletes with this object. A million strings in memory would take 100 MB, and the runtime lets
 * garbage grow to as much again.
 */
export class SharedStrings {
  readonly #database = withScratchErrors(() => openScratch(table));
  readonly #insert = this.#database.query<never, [number, string]>("insert into scratch.texts values (?, ?)");
  readonly #select = this.#database.query<{ texts: string }, [number]>(
    "select texts from scratch.texts where block = ?",
  );
  readonly #cached = new Map<number, readonly string[]>();
  #cachedLength = 0;
  /** The last block, which isn't in the table yet. */
  #last: string[] = [];
  #blocks = 0;
  #length = 0;

  /** @throws ProblemError `too-large`, or `unavailable` if there's no space for the temporary file */
  add(text: string): void {
    this.#length += text.length;
    if (this.#length > workbookLimits.sharedStringsLength)
      throw tooLargeError(`its texts have more than ${workbookLimits.sharedStringsLength} characters`);
    this.#last.push(text);
    if (this.#last.length < blockSize) return;
    withScratchErrors(() => this.#insert.run(this.#blocks++, JSON.stringify(this.#last)));
    this.#last = [];
  }

  /** Undefined if there's no such string. @param index from 0 @throws ProblemError `unavailable` */
  get(index: number): string | undefined {
    const block = Math.floor(index / blockSize);
    const texts = block === this.#blocks ? this.#last : (this.#cached.get(block) ?? this.#load(block));
    return texts[index % blockSize];
  }

  #load(block: number): readonly string[] {
    const texts = withScratchErrors(() => this.#select.get(block)?.texts ?? "[]");
    if (this.#cachedLength > maxCached) {
      this.#cached.clear();
      this.#cachedLength = 0;
    }
    const parsed = JSON.parse(texts) as string[];
    this.#cached.set(block, parsed);
    this.#cachedLength += texts.length;
    return parsed;
  }
}

const table = "create table scratch.texts (block integer primary key, texts text not null) strict";
