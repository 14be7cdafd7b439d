// How tests wait: for an event, never for a time, which would be too short on a slow machine and too long on any other. So only `test/support` may use
// `Bun.sleep` and `setTimeout`.

/** How long we wait before we check a condition again. A slow check is repeated less often, to leave time for the program. */
const [minPollMs, maxPollMs] = [2, 20];

interface WaitOptions {
  /** Default: 40 s, long enough for a busy machine, but less than a test's time limit, so that the error says what was missing. */
  readonly withinMs?: number;
  /** For the error message: what the process that the test waits for has printed. */
  readonly output?: () => string;
}

/**
 * Waits until a condition holds, and returns its value.
 * @param condition returns false, null or undefined until it holds
 * @param what for the error message: the event that the test waits for
 * @throws Error after `withinMs`
 */
export async function waitUntil<Value>(
  condition: () => Value | Promise<Value>,
  what: string,
  { withinMs = 40_000, output }: WaitOptions = {},
): Promise<Exclude<Value, false | null | undefined>> {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const startedAt = performance.now();
    const value = await condition();
    if (value !== undefined && value !== null && value !== false)
      return value as Exclude<Value, false | null | undefined>;
    const now = performance.now();
    if (now >= giveUpAt)
      throw new Error(`waited ${withinMs / 1000} s for ${what}${output ? `; output: ${output()}` : ""}`);
    await Bun.sleep(Math.min(Math.max(minPollMs, 2 * (now - startedAt)), maxPollMs));
  }
}

/**
 * Waits long enough to show that something doesn't happen. If the program has no constant for that, wait for a later event instead.
 * @param ms the program's constant after which it would happen; half of it is added
 */
export function waitForNothing(ms: number): Promise<void> {
  return Bun.sleep(ms * 1.5);
}

/**
 * Lets time pass that the result depends on, because two moments must differ or a limit must expire.
 * @param ms the program's constant that has to pass; a little is added, because clocks are rounded
 */
export function letPass(ms: number): Promise<void> {
  return Bun.sleep(ms + 5);
}

/**
 * Acts as a deliberately slow peer that sends one part after another.
 * @param pauseMs pause after each part
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

/** Waits for ticks, in which the event loop runs all callbacks that are ready. */
export async function ticks(count = 1): Promise<void> {
  for (let tick = 0; tick < count; tick++) await Bun.sleep(0);
}

/** How many reads in a row must agree. They take longer than the 40 ms for which the kernel delays acknowledging a packet. */
const sameReads = 25;

/**
 * Waits until a number stops changing, and returns it. Only for states without events, such as full buffers.
 * @param read returns undefined until the number means something
 * @param what for the error message
 */
export function waitUntilSettled(read: () => number | undefined, what: string): Promise<number> {
  let last: number | undefined;
  let same = 0;
  return waitUntil(() => {
    const value = read();
    same = value === last ? same + 1 : 0;
    last = value;
    return same >= sameReads ? value : undefined;
  }, what);
}

/**
 * Blocks this thread, like a long step of work.
 * @param ms the program's constant that the step exceeds; a little is added
 */
export function block(ms: number): void {
  Bun.sleepSync(ms + 5);
}
