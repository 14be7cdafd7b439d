// The days that the history is limited to, such as those of last week, in the reader's time zone. A day is a text such as `2026-01-31`.

import { toDayText } from "../text/times.tsx";

/** A range of days, both included. An empty text leaves its end open. */
interface Days {
  readonly from: string;
  readonly to: string;
}

/** Ranges that are chosen with one click: `month` is the calendar month before the present one. */
export const dayPresets = ["today", "yesterday", "week", "month"] as const;
type DayPreset = (typeof dayPresets)[number];

/** Returns the days of a preset. @param now milliseconds since 1970 */
export function daysOf(preset: DayPreset, now: number): Days {
  const date = new Date(now);
  const ago = (days: number) => toDayText(new Date(date.getFullYear(), date.getMonth(), date.getDate() - days));
  if (preset === "month") {
    const first = new Date(date.getFullYear(), date.getMonth() - 1, 1);
    return { from: toDayText(first), to: toDayText(new Date(date.getFullYear(), date.getMonth(), 0)) };
  }
  const [first, last] = { today: [0, 0], yesterday: [1, 1], week: [6, 0] }[preset] as [number, number];
  return { from: ago(first), to: ago(last) };
}

/** Returns the preset with these days, if there is one. */
export function presetOf({ from, to }: Days, now: number): DayPreset | undefined {
  return dayPresets.find((preset) => {
    const days = daysOf(preset, now);
    return days.from === from && days.to === to;
  });
}

/** Returns the beginning of the first day, and of the day after the last one, in ISO 8601. */
export function toInstants({ from, to }: Days): { readonly from?: string; readonly to?: string } {
  const midnight = (day: string, offset: number) => {
    const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
    return new Date(year, month - 1, date + offset).toISOString();
  };
  return { ...(from ? { from: midnight(from, 0) } : {}), ...(to ? { to: midnight(to, 1) } : {}) };
}

/** Returns the text of a day; the empty text if it does not name a day of the years 1000 to 9999. */
export function parseDay(text: string | null): string {
  const [, year, month, day] = /^([1-9]\d{3})-(\d\d)-(\d\d)$/.exec(text ?? "") ?? [];
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  return text !== null && toDayText(date) === text ? text : "";
}
