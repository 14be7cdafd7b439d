/** Milliseconds in which a cause is logged at most once. */
const causeIntervalMs = 1000;
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
 * Limits log lines that clients can cause as often as they like to one per second and cause, and to 100 per second, so that they neither
 * fill the disk nor hide other lines.
 * @param now milliseconds since 1970
 */
export function createLogLimit(now: () => number): LogLimit {
  const logged = new Map<string, LoggedCause>();
  return (cause, write) => {
    const last = logged.get(cause);
    const at = now();
    if (last && Math.abs(at - last.at) < causeIntervalMs) {
      last.suppressed++;
      return;
    }
    if (!last && logged.size >= maxCauses) forgetOld(logged, at);
    if (!last && logged.size >= maxCauses) return;
    logged.set(cause, { at, suppressed: 0 });
    write(last?.suppressed ?? 0);
  };
}

function forgetOld(logged: Map<string, LoggedCause>, now: number): void {
  for (const [cause, { at }] of logged) if (Math.abs(now - at) >= causeIntervalMs) logged.delete(cause);
}
