// The time of the delivery of webhooks, which comes from outside, so that the simulation in the tests decides it.

/** The clocks and the timer of the runner. */
export interface Clock {
  /** The wall clock, in milliseconds since 1970. It can be set back or forward. */
  now(): number;
  /** A monotonic clock, in milliseconds since some moment. It never goes back. */
  monotonicMs(): number;
  /** Calls `callback` after this time. Returns a function that cancels the call. The timer does not keep the process alive. */
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
