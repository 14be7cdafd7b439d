// The time of the server. The browser's clock may be wrong, but "5 minutes ago" must be right.

/** A smaller difference of the clocks, in milliseconds, is ignored, because responses take some time and their `Date` has whole seconds. */
const toleranceMs = 5000;

let offsetMs = 0;

/** Compares the clocks of server and browser. @param date the `Date` of a response that has just arrived (RFC 9110 section 6.6.1) */
export function compareClocks(date: string | null): void {
  const found = Date.parse(date ?? "") - Date.now();
  if (!Number.isNaN(found)) offsetMs = Math.abs(found) > toleranceMs ? found : 0;
}

/** Returns the server's time in milliseconds since 1970. */
export function serverNow(): number {
  return Date.now() + offsetMs;
}
