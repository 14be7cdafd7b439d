// The clock of webhook delivery, which is passed in so that the tests can simulate time.

export interface Clock {
  /** Wall clock, in milliseconds since 1970. May be set back or forward. */
  now(): number;
  /** In milliseconds since some moment. Never goes back. */
  monotonicMs(): number;
  /** Doesn't keep the process alive. @returns a function that cancels the call */
  callAfter(milliseconds: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: Date.now,
  monotonicMs: () => performance.now(),
  callAfter(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
