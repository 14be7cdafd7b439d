// Times in the reader's zone and language.

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** @param instant in ISO 8601 */
export function toDay(instant: string): string {
  return day.format(new Date(instant));
}

/** A text of the server with its instants in the reader's zone. */
export function withMoments(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, toMoment);
}

/** @param instant in ISO 8601 */
export function toMoment(instant: string): string {
  return moment.format(new Date(instant));
}
