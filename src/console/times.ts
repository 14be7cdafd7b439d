// Times in the reader's zone and language.

import { locale } from "./locale.ts";

const day = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const moment = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });

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

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const [minute, hour, dayLength] = [60_000, 3_600_000, 86_400_000];

/** How long ago, or in how long, in minutes, hours or days; the day when that is more than a week. @param instant in ISO 8601 */
export function toAgo(instant: string, now: number): string {
  const distance = Date.parse(instant) - now;
  const length = Math.abs(distance);
  if (length < hour) return relative.format(Math.round(distance / minute), "minute");
  if (length < dayLength) return relative.format(Math.round(distance / hour), "hour");
  if (length < 7 * dayLength) return relative.format(Math.round(distance / dayLength), "day");
  return toDay(instant);
}

const exact = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });

/** With its second. @param instant in ISO 8601 */
export function toExactMoment(instant: string): string {
  return exact.format(new Date(instant));
}

const hourAndMinute = new Intl.DateTimeFormat(locale, { timeStyle: "short" });

/** The time of the day. @param at milliseconds since 1970 */
export function toHour(at: number): string {
  return hourAndMinute.format(at);
}
