import type { Steps } from "./slices.ts";

/** Items between two pauses: some tens of microseconds. */
const itemsPerFilterStep = 4096;

/** The items that pass, in their order. */
export function* filtered<T>(items: readonly T[], passes: (item: T) => boolean): Steps<T[]> {
  const passing: T[] = [];
  for (let from = 0; from < items.length; from += itemsPerFilterStep) {
    const end = Math.min(items.length, from + itemsPerFilterStep);
    for (let index = from; index < end; index++) if (passes(items[index] as T)) passing.push(items[index] as T);
    yield;
  }
  return passing;
}
