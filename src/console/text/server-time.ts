// The server's time. The browser's clock may be wrong, but "5 minutes ago" must be right.

/** Smaller differences, in milliseconds, are ignored, because responses take time and their `Date` is in whole seconds. */
const toleranceMs = 5000;

let offsetMs = 0;

/** Compares the browser's clock with the server's. @param date the `Date` header of a response that just arrived (RFC 9110 section 6.6.1) */
export function compareClocks(date: string | null): void {
  const found = Date.parse(date ?? "") - Date.now();
  if (!Number.isNaN(found)) offsetMs = Math.abs(found) > toleranceMs ? found : 0;
}

/** Returns the server's time in milliseconds since 1970. */
export function serverNow(): number {
  return Date.now() + offsetMs;
}
