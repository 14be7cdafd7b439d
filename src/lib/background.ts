// Repeats a step in the background, with a pause after each one.

export interface Background {
  /** Starts no further step. Resolves when the step in flight has ended. */
  stop(): Promise<void>;
}

/** Milliseconds before the first step and after a failed step. `withJitter` varies them. */
const defaultPauseMs = 60_000;

interface BackgroundOptions {
  /** Called with the error of a failed step, unless `stop` was called before. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds before the first step. Default: one minute, with jitter. */
  readonly firstPauseMs?: number | undefined;
}

/**
 * Runs `step` repeatedly until `stop` is called. The pauses do not keep the process alive.
 * @param step returns the milliseconds to wait before the next step. Its parameter tells whether `stop` was called
 */
export function startBackground(
  step: (isStopped: () => boolean) => Promise<number>,
  { onError, firstPauseMs = withJitter(defaultPauseMs) }: BackgroundOptions,
): Background {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  let isStopped = false;

  async function run(): Promise<void> {
    await sleep(firstPauseMs, stopped);
    while (!isStopped) await sleep(await attempt(), stopped);
  }

  async function attempt(): Promise<number> {
    try {
      return await step(() => isStopped);
    } catch (error) {
      if (!isStopped) onError(error);
      return withJitter(defaultPauseMs);
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

/** Returns a random time from 75 to 125 % of `milliseconds`, so that processes do not all work at the same moment. */
export function withJitter(milliseconds: number): number {
  return milliseconds * (0.75 + Math.random() / 2);
}

/** Resolves after `milliseconds`, or as soon as `stopped` resolves. Does not keep the process alive. */
export async function sleep(milliseconds: number, stopped: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  timer.unref();
  await Promise.race([promise, stopped]);
  clearTimeout(timer);
}
