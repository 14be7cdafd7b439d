import type { Steps } from "./slices.ts";

/** Items sorted or merged between two pauses. */
const itemsPerSortStep = 512;

/** Sorts `items` into a new array: a stable merge sort that can pause. */
export function* sorted<T>(items: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += itemsPerSortStep) {
    runs.push(items.slice(from, from + itemsPerSortStep).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const longer: T[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const [left, right] = [runs[index] as T[], runs[index + 1]];
      longer.push(right ? yield* merged(left, right, compare) : left);
    }
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merged<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  const all: T[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const isLeft = r === right.length || (l < left.length && compare(left[l] as T, right[r] as T) <= 0);
    all.push((isLeft ? left[l++] : right[r++]) as T);
    if (all.length % itemsPerSortStep === 0) yield;
  }
  return all;
}
