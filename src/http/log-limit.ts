/** Milliseconds within which a cause is logged once. */
const interval = 1000;
/** Most causes that are told apart. */
const mostCauses = 100;

interface Logged {
  readonly at: number;
  suppressed: number;
}

/**
 * Calls `write`, unless the same cause was logged less than a second ago.
 * @param write gets how often it was not called for this cause since the last time
 */
type LogLimit = (cause: string, write: (suppressed: number) => void) => void;

/**
 * For what clients can cause as often as they like: each cause is logged at most once a second, so that the log neither
 * fills the disk nor hides what else is in it.
 * @param now milliseconds since 1970
 */
export function createLogLimit(now: () => number): LogLimit {
  const logged = new Map<string, Logged>();
  return (cause, write) => {
    const last = logged.get(cause);
    const at = now();
    if (last && Math.abs(at - last.at) < interval) {
      last.suppressed++;
      return;
    }
    if (!last && logged.size >= mostCauses) logged.clear();
    logged.set(cause, { at, suppressed: 0 });
    write(last?.suppressed ?? 0);
  };
}
