/** About how many bytes something keeps; they count in what it is a part of as well. */
export class Tally {
  bytes = 0;
  #whole: Tally | undefined;

  constructor(whole?: Tally) {
    this.#whole = whole;
  }

  add(bytes: number): void {
    this.bytes += bytes;
    this.#whole?.add(bytes);
  }

  /** For what is let go: it counts in nothing else any more, also when somebody still uses it and it grows. */
  drop(): void {
    this.#whole?.add(-this.bytes);
    this.#whole = undefined;
  }
}
