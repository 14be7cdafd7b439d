// Reads lists item by item, so that files can have any size and large bodies don't block the thread. Each format has one reader, for the records in a file and
// the operations in a batch (json-items.ts, xml-items.ts).

import { ProblemError } from "../model/errors.ts";
import type { Decoded } from "./format.ts";

/**
 * Reads items from text that arrives in chunks. This generator yields each item, and `undefined` when it needs the next chunk: pass that to `next`, or
 * undefined at the end of the text.
 * @throws ProblemError if the text is malformed, or has an item longer than `maxItemLength`
 */
export type ItemReader<T> = Generator<T | undefined, void, string | undefined>;

/** A record in a file. */
export interface FileItem {
  /** As it is in the file. */
  readonly text: string;
  readonly decoded: Decoded;
  /** XML prefixes declared around the item, which it may use. */
  readonly declarations?: string | undefined;
}

export interface ItemErrors {
  /** The error of an item that exceeds `maxItemLength`. @param number starts at 1 */
  tooLong(number: number): ProblemError;
  /** Adds the item's number to an error found in it. */
  inItem(number: number, error: unknown): unknown;
}

/** In UTF-16 units. This limits the memory for an item that never ends. */
export const maxItemLength = 1 << 20;

export const recordErrors: ItemErrors = {
  tooLong: (number) =>
    new ProblemError(
      "bad-request",
      `record ${number} is longer than ${maxItemLength} characters; its end may be missing`,
    ),
  inItem: (_, error) => error,
};

/** Yields the items of text whose chunks arrive one by one. */
export async function* itemsOfFile<T>(reader: ItemReader<T>, chunks: AsyncIterable<string>): AsyncGenerator<T> {
  reader.next();
  for await (const chunk of chunks) yield* itemsIn(reader, chunk);
  yield* lastItems(reader);
}

/** Yields the items of text that's all there, and `undefined` after each chunk. */
export function* itemsOfBody<T>(reader: ItemReader<T>, chunks: Iterable<string>): Generator<T | undefined, void> {
  reader.next();
  for (const chunk of chunks) {
    yield* itemsIn(reader, chunk);
    yield undefined;
  }
  yield* lastItems(reader);
}

function* itemsIn<T>(reader: ItemReader<T>, chunk: string): Generator<T, void> {
  for (let { value } = reader.next(chunk); value; { value } = reader.next()) yield value;
}

/** A reader may ask for a chunk several times before it notices the end. */
function* lastItems<T>(reader: ItemReader<T>): Generator<T, void> {
  for (let { done, value } = reader.next(); !done; { done, value } = reader.next()) if (value) yield value;
}
