// What time it is for the server: the browser's clock may be wrong, and "5 minutes ago" must not be.

/** Milliseconds by which the clocks may differ before that counts: responses take a while, and their dates have no fraction of a second. */
const tolerance = 5000;

let offset = 0;

/** Compares the clocks. @param date the `Date` of a response that has just arrived (RFC 9110 section 6.6.1) */
export function noteDate(date: string | null): void {
  const found = Date.parse(date ?? "") - Date.now();
  if (!Number.isNaN(found)) offset = Math.abs(found) > tolerance ? found : 0;
}

/** Milliseconds since 1970 on the server. */
export function serverNow(): number {
  return Date.now() + offset;
}
