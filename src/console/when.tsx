import { useSyncExternalStore } from "react";
import { serverNow } from "./clock.ts";
import { toAgo, toMoment } from "./times.ts";

/** A time as people say it, such as `5 minutes ago`, with the exact one as its tip. @param at in ISO 8601 */
export function When({ at }: { readonly at: string }) {
  const now = useSyncExternalStore(subscribe, minute);
  return (
    <time dateTime={at} title={toMoment(at)}>
      {toAgo(at, now)}
    </time>
  );
}

/** Milliseconds between two looks at the clock. */
const interval = 30_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, interval);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The present time, the same within each interval, as React asks of a store. */
function minute(): number {
  return Math.ceil(serverNow() / interval) * interval;
}
