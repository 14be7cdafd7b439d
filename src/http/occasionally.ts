/** Milliseconds within which a cause is told once. */
const interval = 1000;
/** Most causes that are told apart. */
const mostCauses = 100;

interface Told {
  at: number;
  /** How many were left out since. */
  leftOut: number;
}

/** Tells of something, unless the same was told just now. @param tell gets how many were left out since the last time */
export type Occasionally = (cause: string, tell: (leftOut: number) => void) => void;

/**
 * For what clients can bring about as often as they like: each cause is told at most once a second, so that the log
 * neither fills the disk nor hides what else is in it.
 * @param now milliseconds since 1970
 */
export function createOccasionally(now: () => number): Occasionally {
  const told = new Map<string, Told>();
  return (cause, tell) => {
    const known = told.get(cause);
    const at = now();
    if (known && Math.abs(at - known.at) < interval) {
      known.leftOut++;
      return;
    }
    if (!known && told.size >= mostCauses) told.clear();
    told.set(cause, { at, leftOut: 0 });
    tell(known?.leftOut ?? 0);
  };
}
