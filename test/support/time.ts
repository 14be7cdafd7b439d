// How a test waits: for an event, and never for a time. A time is too short on a slow machine, and too long on any other machine. So `Bun.sleep` and
// `setTimeout` are in `test/support` only.

/** Minimum and maximum milliseconds between two tests of a condition. A test that takes long is repeated less often, so that the program has time too. */
const [minPollMs, maxPollMs] = [2, 20];

interface WaitOptions {
  /** Maximum milliseconds. By default 40 s: long, because a machine may be busy, but less than the time limit of a test, so that the error has a reason. */
  readonly withinMs?: number;
  /** For the message of the error: the output so far of the process that the test waits for. */
  readonly output?: () => string;
}

/**
 * Waits until a condition holds, and returns its value.
 * @param condition returns false, null or undefined as long as it does not hold
 * @param what for the message of the error: the event that the test waits for
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
 * Waits long enough to show that something does not happen. Without such a constant, a test waits for an event that comes later.
 * @param ms the time of the program after which the event would happen; half of it is added
 */
export function waitForNothing(ms: number): Promise<void> {
  return Bun.sleep(ms * 1.5);
}

/**
 * Lets a time pass that the result depends on: two moments must differ, or a limit must expire.
 * @param ms the constant of the program that has to pass; a little is added, because clocks are rounded
 */
export function letPass(ms: number): Promise<void> {
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

/** Reads in a row that must return the same value. They take longer than the kernel delays the acknowledgement of a packet: 40 ms. */
const sameReads = 25;

/**
 * Waits until a number does not change any longer, and returns it. Only for a state without events, such as buffers that are full.
 * @param read returns undefined as long as the number has no meaning
 * @param what for the message of the error
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
 * @param ms the constant of the program that the step exceeds; a little is added
 */
export function block(ms: number): void {
  Bun.sleepSync(ms + 5);
}
