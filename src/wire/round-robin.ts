// Connections that have more to do than one step take turns, so that none delays the others.

/** Work in steps. */
export interface Turn {
  /** Does one bounded step. Returns whether there is more to do now. */
  takeTurn(): boolean;
}

/** Milliseconds for all waiting connections together, in one turn of the event loop. */
const maxTime = 1;

/**
 * Each connection takes one step and goes to the end of the queue. All of them together get a millisecond before the event loop looks
 * for input again, so input on any other connection waits for about that long.
 */
export class Turns {
  readonly #waiting = new Queue<Turn>();
  #isScheduled = false;

  has(entry: QueueEntry<Turn>): boolean {
    return this.#waiting.has(entry);
  }

  add(entry: QueueEntry<Turn>): void {
    this.#waiting.add(entry);
    this.#schedule();
  }

  delete(entry: QueueEntry<Turn>): void {
    this.#waiting.delete(entry);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.isEmpty) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const end = performance.now() + maxTime;
    for (let entry = this.#waiting.first; entry; entry = this.#waiting.first) {
      this.#waiting.delete(entry);
      if (entry.member.takeTurn()) this.#waiting.add(entry);
      if (performance.now() >= end) break;
    }
    this.#schedule();
  }
}

// How much new responses write at once. Requests of a thousand connections may arrive in one turn of the event loop, and each is handled when it
// arrives: what their responses write then is bounded together. The rest is written when it is the connection's turn.

/** Bytes of one response. The system copies 4 MiB in a millisecond. */
const mostOfOne = 512 * 1024;
/** Bytes of all responses in one turn of the event loop. */
const mostOfTurn = 2 * 1024 * 1024;
/** Bytes that every response writes at once, so that small ones never wait for large ones. */
const always = 16 * 1024;

let left = mostOfTurn;

/** How many of the first `length` bytes of a new response to write now. */
export function firstWrite(length: number): number {
  if (length <= always) return length;
  if (left === mostOfTurn) setImmediate(() => (left = mostOfTurn));
  const bytes = Math.min(length, mostOfOne, Math.max(left, always));
  left = Math.max(0, left - bytes);
  return bytes;
}

// A queue from which any member can be deleted in constant time. A Set is too slow: to find its first member it passes all that were
// deleted before it, which takes 20 to 160 µs with 20,000 members, at each new connection.

/** One member of one queue. */
export class QueueEntry<T> {
  readonly member: T;
  /** Both are undefined while it is not in a queue. */
  before: QueueEntry<T> | undefined;
  after: QueueEntry<T> | undefined;

  constructor(member: T) {
    this.member = member;
  }
}

/** Members in the order in which they were added. An entry belongs to one queue at a time. */
export class Queue<T> {
  #first: QueueEntry<T> | undefined;
  #last: QueueEntry<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): QueueEntry<T> | undefined {
    return this.#first;
  }

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  has(entry: QueueEntry<T>): boolean {
    return entry === this.#first || entry.before !== undefined;
  }

  /** Adds a member at the end, unless it is in the queue. */
  add(entry: QueueEntry<T>): void {
    if (this.has(entry)) return;
    this.#size++;
    entry.before = this.#last;
    if (this.#last) this.#last.after = entry;
    else this.#first = entry;
    this.#last = entry;
  }

  /** Deletes a member, if it is in the queue. */
  delete(entry: QueueEntry<T>): void {
    if (!this.has(entry)) return;
    this.#size--;
    const { before, after } = entry;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    entry.before = undefined;
    entry.after = undefined;
  }
}
