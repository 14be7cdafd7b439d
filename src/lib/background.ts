// Work that goes on beside everything else, step by step with pauses.

export interface Background {
  /** Waits for the step under way; no other follows. */
  stop(): Promise<void>;
}

/** Milliseconds before the first step, and after one that failed; `randomized`. */
const usualPause = 60_000;

interface BackgroundOptions {
  /** Called with the error of a step that failed, unless the work has been stopped. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds before the first step. */
  readonly firstPause?: number | undefined;
}

/**
 * Runs `step` again and again until it is stopped. Does not keep the process alive.
 * @param step returns how long to pause before the next step, in milliseconds
 */
export function startBackground(
  step: (isStopped: () => boolean) => Promise<number>,
  { onError, firstPause = randomized(usualPause) }: BackgroundOptions,
): Background {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  let isStopped = false;

  async function run(): Promise<void> {
    await sleep(firstPause, stopped);
    while (!isStopped) await sleep(await attempt(), stopped);
  }

  async function attempt(): Promise<number> {
    try {
      return await step(() => isStopped);
    } catch (error) {
      if (!isStopped) onError(error);
      return randomized(usualPause);
    }
  }

  const running = run();
  return {
    stop() {
      isStopped = true;
      stop();
      return running;
    },
  };
}

/** A quarter more or less, so that processes do not work at the same time. */
export function randomized(milliseconds: number): number {
  return milliseconds * (0.75 + Math.random() / 2);
}

/** Waits that long, or until `stopped`. Does not keep the process alive. */
export async function sleep(milliseconds: number, stopped: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  timer.unref();
  await Promise.race([promise, stopped]);
  clearTimeout(timer);
}
