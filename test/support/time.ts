/**
 * Waiting in tests. A test waits for an event, and never for a time: a time is too short on a slow machine, and too long on every other one. So `Bun.sleep` and
 * `setTimeout` are in `test/support` only; `house.test.ts` checks it.
 */

/** How often a condition is tested, in milliseconds. */
const pollMs = 2;

/**
 * Waits until a condition holds.
 *
 * @param condition Returns what is waited for, or something false as long as it is not there
 * @param what For the message: what is waited for
 * @param withinMs How long it may take before the test fails; generous, because a machine may be slow
 * @returns What the condition returned
 * @throws {Error} After that time
 */
export async function until<Value>(condition: () => Value | Promise<Value>, what: string, withinMs = 20_000): Promise<NonNullable<Value>> {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() >= giveUpAt) throw new Error(`waited ${withinMs / 1000} s: ${what}`);
    await Bun.sleep(pollMs);
  }
}

/**
 * Waits long enough to show that something does not happen.
 *
 * @param ms The constant of the program that would make it happen; half of it is added. A test that knows no such constant waits for an event instead, of which
 *   the program can say that it comes later.
 */
export function nothing(ms: number): Promise<void> {
  return Bun.sleep(ms * 1.5);
}

/**
 * Lets a time pass that the outcome depends on: two moments that must differ, a limit that must expire.
 *
 * @param ms The constant of the program that has to pass; a little is added, because clocks are rounded
 */
export function pass(ms: number): Promise<void> {
  return Bun.sleep(ms + 5);
}

/**
 * A peer that is slow on purpose: does one thing after the other, with pauses between them.
 *
 * @param parts What it does, or sends
 * @param pauseMs How long it waits after each of them
 * @param send Does it
 */
export async function slowly<Part>(parts: Iterable<Part>, pauseMs: number, send: (part: Part) => unknown): Promise<void> {
  for (const part of parts) {
    await send(part);
    await Bun.sleep(pauseMs);
  }
}

/** Lets the event loop turn, so that what is ready happens. */
export async function turns(count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Bun.sleep(0);
}
