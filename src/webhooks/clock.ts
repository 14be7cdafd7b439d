/** Time as the runner sees it. The simulation in the tests has its own. */
export interface Clock {
  /** Milliseconds since 1970. May be set back or forward. */
  now(): number;
  /** Milliseconds since some moment. Never goes back. */
  elapsed(): number;
  /** Calls `callback` after so many milliseconds. Returns what cancels it. Does not keep the process alive. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: Date.now,
  elapsed: () => performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
