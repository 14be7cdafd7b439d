// Date ranges for the history, such as last week, in the reader's time zone. A day is a string such as `2026-01-31`.

import { toDayText } from "../text/times.tsx";

/** A range of days, including both. An empty string leaves that end open. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** One-click ranges. `month` is the previous calendar month. */
export const dayPresets = ["today", "yesterday", "week", "month"] as const;
type DayPreset = (typeof dayPresets)[number];

/** Returns a preset's days. @param now milliseconds since 1970 */
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

/** Returns the preset for these days, if there is one. */
export function presetOf({ from, to }: Days, now: number): DayPreset | undefined {
  return dayPresets.find((preset) => {
    const days = daysOf(preset, now);
    return days.from === from && days.to === to;
  });
}

/** Returns the start of the first day, and of the day after the last one, in ISO 8601. */
export function toInstants({ from, to }: Days): { readonly from?: string; readonly to?: string } {
  const midnight = (day: string, offset: number) => {
    const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
    return new Date(year, month - 1, date + offset).toISOString();
  };
  return { ...(from ? { from: midnight(from, 0) } : {}), ...(to ? { to: midnight(to, 1) } : {}) };
}

/** Returns a day's text, or an empty string unless it's a day in the years 1000 to 9999. */
export function parseDay(text: string | null): string {
  const [, year, month, day] = /^([1-9]\d{3})-(\d\d)-(\d\d)$/.exec(text ?? "") ?? [];
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  return text !== null && toDayText(date) === text ? text : "";
}
