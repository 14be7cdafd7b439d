/** How many values lie in which range, in plain numbers. */
export class Histogram {
  /** Upper bounds of the ranges, ascending. */
  readonly bounds: readonly number[];
  /** How many values are in each range: above the bound before and up to its own, and at the end those above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    let index = 0;
    while (index < this.bounds.length && value > (this.bounds[index] as number)) index++;
    this.counts[index] = (this.counts[index] as number) + 1;
    this.sum += value;
  }
}

/** Bounds for durations in milliseconds. */
export const durationBounds = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 2500];
