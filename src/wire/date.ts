// The current date in the form of `Date` (RFC 9110 section 6.6.1), made once per second: to read the clock and to compare takes longer than to
// write the text.

/** `Date`, without the end of the line, and the same with the beginning of `Content-Length`. */
interface DateLines {
  readonly date: string;
  readonly dateAndLength: string;
}

let current: DateLines | undefined;

/** The lines for a response that is sent now. If the event loop is late, they are as late. */
export function dateLines(): DateLines {
  current ??= makeLines();
  return current;
}

function makeLines(): DateLines {
  const now = Date.now();
  setTimeout(() => (current = undefined), 1000 - (now % 1000)).unref();
  const date = `Date: ${new Date(now).toUTCString()}`;
  return { date, dateAndLength: `${date}\r\nContent-Length: ` };
}
