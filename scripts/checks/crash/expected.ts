// What a subject (a client's records, a site, a file) may look like after a power loss: steps acknowledged before it have happened, steps sent but not
// acknowledged may have happened, and nothing else has.

/** A change to a subject. Positions are positions in the log. */
export interface Step {
  readonly sent: number;
  /** When the step was acknowledged; undefined if its outcome isn't known. */
  readonly acknowledged: number | undefined;
  /** Returns the names after the step; undefined if the step can't happen with these names. */
  readonly change: (names: readonly string[]) => readonly string[] | undefined;
}

/** A subject's possible states, as lists of names. */
export class Expected {
  readonly #subject: string;
  readonly #first: readonly string[];
  readonly #steps: Step[] = [];

  constructor(subject: string, first: readonly string[] = []) {
    this.#subject = subject;
    this.#first = first;
  }

  add(step: Step): void {
    this.#steps.push(step);
  }

  /** Returns a sentence for each way in which `found` contradicts a power loss at `position`. */
  check(found: readonly string[], position: number): string[] {
    const possible = new Set([keyOf(this.#first)]);
    for (const { sent, acknowledged, change } of this.#steps) {
      if (sent > position) break;
      const before = [...possible];
      if (acknowledged !== undefined && acknowledged <= position) possible.clear();
      for (const key of before) {
        const after = change(JSON.parse(key));
        if (after) possible.add(keyOf(after));
      }
    }
    if (possible.has(keyOf(found))) return [];
    const wanted = [...possible].slice(-2).map(shorten).join(" or ");
    return [`${this.#subject}: found ${shorten(keyOf(found))}, expected ${wanted}`];
  }
}

/** Returns a change that replaces the name `from`, adds a name, or removes one. */
export function replaceName(from: string | undefined, to: string | undefined): Step["change"] {
  return (names) => {
    if (from !== undefined && !names.includes(from)) return undefined;
    const others = names.filter((name) => name !== from);
    return to === undefined ? others : [...others, to];
  };
}

function keyOf(names: readonly string[]): string {
  return JSON.stringify([...names].sort());
}

function shorten(text: string): string {
  return text.length <= 160 ? text : `${text.slice(0, 100)}… (${text.split(",").length} names)`;
}
