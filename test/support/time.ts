// How a test waits: for an event, and never for a time. A time is too short on a slow machine, and too long on any other machine. So `Bun.sleep` and
// `setTimeout` are in `test/support` only.

/** Milliseconds between two tests of a condition. */
const pollMs = 2;

/**
 * Waits until a condition holds, and returns its value.
 * @param condition returns false, null or undefined as long as it does not hold
 * @param what for the message of the error: the event that the test waits for
 * @param withinMs maximum milliseconds. It is long, because a machine may be busy
 * @throws Error after that time
 */
export async function waitUntil<Value>(
  condition: () => Value | Promise<Value>,
  what: string,
  withinMs = 20_000,
): Promise<Exclude<Value, false | null | undefined>> {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== null && value !== false)
      return value as Exclude<Value, false | null | undefined>;
    if (performance.now() >= giveUpAt) throw new Error(`waited ${withinMs / 1000} s for ${what}`);
    await Bun.sleep(pollMs);
  }
}

/**
 * Waits long enough to show that something does not happen. Without such a constant, a test waits for an event that comes later.
 * @param ms the constant of the program after which it would happen; half of it is added
 */
export function nothing(ms: number): Promise<void> {
  return Bun.sleep(ms * 1.5);
}

/**
 * Lets a time pass that the result depends on: two moments must differ, or a limit must expire.
 * @param ms the constant of the program that has to pass; a little is added, because clocks are rounded
 */
export function pass(ms: number): Promise<void> {
  return Bun.sleep(ms + 5);
}

/**
 * Acts as a peer that is slow on purpose: sends one part after the other.
 * @param pauseMs milliseconds after each part
 */
export async function slowly<Part>(
  parts: Iterable<Part>,
  pauseMs: number,
  send: (part: Part) => unknown,
): Promise<void> {
  for (const part of parts) {
    await send(part);
    await Bun.sleep(pauseMs);
  }
}

/** Waits for the next ticks, in which the event loop runs the callbacks that are ready. */
export async function ticks(count = 1): Promise<void> {
  for (let tick = 0; tick < count; tick++) await Bun.sleep(0);
}
