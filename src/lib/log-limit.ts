/** Milliseconds in which a cause is logged at most once. */
const interval = 1000;
const maxCauses = 100;

interface LoggedCause {
  readonly at: number;
  suppressed: number;
}

/**
 * Calls `write`, unless the same cause was logged less than a second ago.
 * @param write receives how often it was not called for this cause since the last time
 */
export type LogLimit = (cause: string, write: (suppressed: number) => void) => void;

/**
 * Limits log lines that clients can cause as often as they like to one per second and cause, so that they neither fill the disk nor
 * hide other lines. Remembers at most 100 causes.
 * @param now milliseconds since 1970
 */
export function createLogLimit(now: () => number): LogLimit {
  const logged = new Map<string, LoggedCause>();
  return (cause, write) => {
    const last = logged.get(cause);
    const at = now();
    if (last && Math.abs(at - last.at) < interval) {
      last.suppressed++;
      return;
    }
    if (!last && logged.size >= maxCauses) logged.clear();
    logged.set(cause, { at, suppressed: 0 });
    write(last?.suppressed ?? 0);
  };
}
