// A queue that is left from anywhere at no cost. A Set would do, but to find its first member takes as long as many were deleted
// before it: 20 to 160 µs with 20,000 members, at each new connection.

/** The place of one member in one queue. */
export class QueueEntry<T> {
  readonly member: T;
  /** Both undefined while it is in no queue. */
  before: QueueEntry<T> | undefined;
  after: QueueEntry<T> | undefined;

  constructor(member: T) {
    this.member = member;
  }
}

/** Members in the order in which they came. A place belongs to one queue at a time. */
export class Queue<T> {
  #first: QueueEntry<T> | undefined;
  #last: QueueEntry<T> | undefined;

  get first(): QueueEntry<T> | undefined {
    return this.#first;
  }

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  has(place: QueueEntry<T>): boolean {
    return place === this.#first || place.before !== undefined;
  }

  /** Adds a member at the end, unless it is there already. */
  add(place: QueueEntry<T>): void {
    if (this.has(place)) return;
    place.before = this.#last;
    if (this.#last) this.#last.after = place;
    else this.#first = place;
    this.#last = place;
  }

  /** Takes a member out, if it is there. */
  delete(place: QueueEntry<T>): void {
    if (!this.has(place)) return;
    const { before, after } = place;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    place.before = undefined;
    place.after = undefined;
  }
}
