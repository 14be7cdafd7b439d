// A time such as `5 minutes ago`, which is updated while it is shown.

import { useSyncExternalStore } from "react";
import { serverNow } from "./server-time.ts";
import { toAgo, toMoment } from "./times.ts";

/** Shows a time relative to now, such as `5 minutes ago`, with the exact time as its tooltip. @param at in ISO 8601 */
export function When({ at }: { readonly at: string }) {
  const now = useSyncExternalStore(subscribe, roundedNow);
  return (
    <time dateTime={at} title={toMoment(at)}>
      {toAgo(at, now)}
    </time>
  );
}

/** Milliseconds between two updates of relative times. */
const intervalMs = 30_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, intervalMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Returns the present time, rounded up to the interval, because React requires that a store returns the same value between updates. */
function roundedNow(): number {
  return Math.ceil(serverNow() / intervalMs) * intervalMs;
}
