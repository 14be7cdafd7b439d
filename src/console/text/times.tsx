// Formats times and durations in the reader's time zone and language. Times such as `5 minutes ago` keep themselves up to date.

import { useSyncExternalStore } from "react";
import { capitalize, locale, toNumber } from "./locale.ts";
import { serverNow } from "./server-time.ts";
import { translate } from "./translate.ts";

const day = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const moment = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });

/** @param instant in ISO 8601 */
export function toDay(instant: string): string {
  return day.format(new Date(instant));
}

/** Converts each ISO 8601 time in a server text to the reader's time zone. */
export function localizeTimes(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, toMoment);
}

/** Formats date and time, to the minute. @param instant in ISO 8601 */
export function toMoment(instant: string): string {
  return moment.format(new Date(instant));
}

const longDay = new Intl.DateTimeFormat(locale, { dateStyle: "full" });

/**
 * Formats a date as a heading. Today and yesterday are named as such, before the date.
 * @param day such as `2026-01-31`, in the reader's time zone
 * @param now in milliseconds since 1970
 */
export function toDayHeading(day: string, now: number): string {
  const noon = new Date(`${day}T12:00`);
  const today = new Date(now).setHours(12, 0, 0, 0);
  const distance = Math.round((noon.getTime() - today) / dayMs);
  const date = longDay.format(noon);
  if (distance > 0 || distance < -1) return date;
  return `${capitalize(relative.format(distance, "day"))}, ${date}`;
}

/** Returns the date in the reader's time zone as a date input has it: `2026-01-31`. */
export function toDayText(date: Date): string {
  const digits = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${digits(date.getMonth() + 1)}-${digits(date.getDate())}`;
}

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/**
 * Formats a time relative to now, such as `5 minutes ago`. From a week on, returns the date.
 * @param instant in ISO 8601
 * @param now in milliseconds since 1970
 */
export function toAgo(instant: string, now: number): string {
  const distance = Date.parse(instant) - now;
  const length = Math.abs(distance);
  if (distance <= 0 && length < minuteMs / 2) return translate("general.just_now");
  if (length < hourMs) return relative.format(Math.round(distance / minuteMs), "minute");
  if (length < dayMs) return relative.format(Math.round(distance / hourMs), "hour");
  if (length < 7 * dayMs) return relative.format(Math.round(distance / dayMs), "day");
  return toDay(instant);
}

const exact = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });

/** Formats date and time, to the second. @param instant in ISO 8601 */
export function toExactMoment(instant: string): string {
  return exact.format(new Date(instant));
}

const hourAndMinute = new Intl.DateTimeFormat(locale, { timeStyle: "short" });

/** Formats the time of day, to the minute. @param at in milliseconds since 1970 */
export function toHour(at: number): string {
  return hourAndMinute.format(at);
}

const timeOfDay = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });

/** Formats the time of day, to the second. @param instant in ISO 8601 */
export function toTimeOfDay(instant: string): string {
  return timeOfDay.format(new Date(instant));
}

/** Shows a time such as `5 minutes ago`, with the exact time as a tooltip. @param at in ISO 8601 */
export function When({ at }: { readonly at: string }) {
  const now = useSyncExternalStore(subscribe, roundedNow);
  return (
    <time dateTime={at} title={toMoment(at)}>
      {toAgo(at, now)}
    </time>
  );
}

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

/** Rounded up to the interval, because React requires a store to return the same value between updates. */
function roundedNow(): number {
  return Math.ceil(serverNow() / intervalMs) * intervalMs;
}

/** Formats a duration as `12.3 ms`, or from a second on as `1.5 s`. */
export function toDuration(milliseconds: number): string {
  const isLong = milliseconds >= 1000;
  const count = toNumber(isLong ? milliseconds / 1000 : milliseconds, { maximumFractionDigits: 1 });
  return translate(isLong ? "general.seconds" : "general.milliseconds", { count });
}
