// Repeats a step in the background, pausing after each one.

export interface Background {
  /** Starts no more steps. Resolves once the current one is done. */
  stop(): Promise<void>;
}

/** Pause before the first step and after a failed one; `withJitter` varies it. */
const defaultPauseMs = 60_000;

interface BackgroundOptions {
  /** Called with a failed step's error, unless `stop` was called first. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds before the first step. Default: one minute, with jitter. */
  readonly firstPauseMs?: number | undefined;
}

/**
 * Runs `step` over and over until `stop` is called. The pauses don't keep the process alive.
 * @param step returns how many milliseconds to wait before the next step. Its parameter tells whether `stop` was called
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

/** Varies `milliseconds` by up to 25% either way, so that processes don't all work at the same moment. */
export function withJitter(milliseconds: number): number {
  return milliseconds * (0.75 + Math.random() / 2);
}

/** Resolves after `milliseconds`, or as soon as `stopped` resolves. Doesn't keep the process alive. */
export async function sleep(milliseconds: number, stopped: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  timer.unref();
  await Promise.race([promise, stopped]);
  clearTimeout(timer);
}
