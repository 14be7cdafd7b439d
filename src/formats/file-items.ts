// The items of a file: one of the records in it, as it is written there and as it is read.

import { Refusal } from "../model/errors.ts";
import type { Decoded } from "./format.ts";

export interface FileItem {
  /** As it is in the file. */
  readonly text: string;
  readonly decoded: Decoded;
}

/** Characters of an item. Bounds the memory for one whose end is missing. */
export const maxItemLength = 1 << 20;

/** @param number of the item, from 1 */
export function tooLong(number: number): Refusal {
  return new Refusal(
    "bad-request",
    `record ${number} is longer than ${maxItemLength} characters; its end may be missing`,
  );
}

/** The text of a file in UTF-8. @throws Refusal `bad-request` if it is something else */
export async function* decodeUtf8(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (error) {
    if (error instanceof TypeError) throw new Refusal("bad-request", "the file is not valid UTF-8", { cause: error });
    throw error;
  }
}
