// Reading a list item by item, so that a file can have any size, and a large body doesn't block the thread. Each format has one reader, for the records of a
// file and for the operations of a batch request (json-items.ts, xml-items.ts).

import { ProblemError } from "../model/errors.ts";
import type { Decoded } from "./format.ts";

/**
 * A reader of the items of a text that arrives in chunks: a generator that yields each item, and `undefined` when it needs the next chunk, which is then
 * passed to `next`; undefined at the end of the text.
 * @throws ProblemError if the text is malformed, or has an item longer than `maxItemLength`
 */
export type ItemReader<T> = Generator<T | undefined, void, string | undefined>;

/** The record of a file. */
export interface FileItem {
  /** The text of the item in the file. */
  readonly text: string;
  readonly decoded: Decoded;
  /** Declarations of prefixes that the item may use, in XML; they are around it. */
  readonly declarations?: string | undefined;
}

/** How the errors of items are reported. */
export interface ItemErrors {
  /** Returns the error of the item with this number, from 1, which exceeds `maxItemLength`. */
  tooLong(number: number): ProblemError;
  /** Adds the number of an item to the error that was found in it. */
  inItem(number: number, error: unknown): unknown;
}

/** Maximum UTF-16 units of an item. It limits the memory for an item without an end. */
export const maxItemLength = 1 << 20;

export const recordErrors: ItemErrors = {
  tooLong: (number) =>
    new ProblemError(
      "bad-request",
      `record ${number} is longer than ${maxItemLength} characters; its end may be missing`,
    ),
  inItem: (_, error) => error,
};

/** Yields the items of a text whose chunks arrive one by one. */
export async function* itemsOfFile<T>(reader: ItemReader<T>, chunks: AsyncIterable<string>): AsyncGenerator<T> {
  reader.next();
  for await (const chunk of chunks) yield* itemsIn(reader, chunk);
  yield* lastItems(reader);
}

/** Yields the items of a text whose chunks are all there, and `undefined` after each chunk. */
export function* itemsOfBody<T>(reader: ItemReader<T>, chunks: Iterable<string>): Generator<T | undefined, void> {
  reader.next();
  for (const chunk of chunks) {
    yield* itemsIn(reader, chunk);
    yield undefined;
  }
  yield* lastItems(reader);
}

/** Yields the items that end in a chunk. */
function* itemsIn<T>(reader: ItemReader<T>, chunk: string): Generator<T, void> {
  for (let { value } = reader.next(chunk); value; { value } = reader.next()) yield value;
}

/** Yields the items that end with the text. A reader may ask for a chunk several times before it notices the end. */
function* lastItems<T>(reader: ItemReader<T>): Generator<T, void> {
  for (let { done, value } = reader.next(); !done; { done, value } = reader.next()) if (value) yield value;
}
