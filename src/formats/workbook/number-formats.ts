// Shows numbers as Excel does.
//
// A cell has a number, such as 1067, and a format, such as `00000`. People only know what they see, 01067, so that's what we import. There are
// exceptions, because what Excel shows depends on its language and the width of the column:
//
//   Dates and times   What Excel shows is ambiguous (3/4/2024), so they become 2024-04-03, 10:30 or 2024-04-03 10:30, with seconds if there are some.
//   General           Has all 15 digits that Excel keeps, even where Excel shows fewer, such as those of an EAN: 5.06123E+12.
//   Separators        As in English, whatever the format's language is: 1,234.50.
//
// If Excel shows something that nobody means, such as #### or 1.23E+05, the number becomes plain digits with a warning. The other warnings are about
// numbers whose last digits Excel has lost, and values that a format hides.

import {
  dateFromSerial,
  format,
  getFormatDateInfo,
  getFormatFromId,
  isDateFormat,
  TOKEN_DURATION,
  tokenize,
} from "numfmt";

/** What a cell says, and what people should know about it. */
export interface Shown {
  readonly text: string;
  readonly warning?: string | undefined;
  /** See `CellWarning`. */
  readonly isUnknown?: boolean | undefined;
}

export interface NumberFormat {
  /** @param raw the number as it is in the workbook. Anything else is shown as it is */
  showNumber(raw: string, hasDatesSince1904: boolean): Shown;
  showText(text: string): Shown;
}

/** The format "General". */
export const general: NumberFormat = {
  showNumber: (raw) => showNumber(raw, showGeneral),
  showText: (text) => ({ text }),
};

/** @param code undefined for formats that every workbook has (ECMA-376, 18.8.30) */
export function createNumberFormat(id: number, code = getFormatFromId(id)): NumberFormat {
  const pattern = code.replace(
    /("[^"]*"|\\.)|\[\$([^\]-]*)(?:-(?!F[48]00)[^\]]*)?\]/gi,
    (_, text, currency = "") => text ?? (currency && `"${currency}"`),
  );
  // Most formats show text as it is.
  const shown = tryFormat(pattern, "text");
  if (shown === undefined) return general;
  const showText = shown.trim() === "text" ? general.showText : (text: string) => showFormattedText(text, pattern);
  return { showNumber: toNumberFormat(pattern), showText };
}

function toNumberFormat(pattern: string): NumberFormat["showNumber"] {
  if (/^(?:general|@)?$/i.test(pattern)) return general.showNumber;
  const { year, month, day, hours, minutes, seconds } = getFormatDateInfo(pattern);
  const [hasDate, hasTime] = [year || month || day, hours || minutes || seconds];
  const isDuration = tokenize(pattern).some(({ type }) => type === TOKEN_DURATION);
  if (!isDateFormat(pattern) || !(hasDate || hasTime))
    return (raw) => showNumber(raw, (number) => showFormatted(number, raw, pattern));
  return (raw, hasDatesSince1904) =>
    showNumber(raw, (number) => {
      const date = hasDatesSince1904 && !isDuration ? number + 1462 : number;
      if (!(date >= 0 && date < firstInvalidDate)) return withHashes(number, raw);
      return isDuration ? showFormatted(number, raw, pattern) : { text: showDate(date, hasDate, hasTime) };
    });
}

/** Only shows numbers. */
function showNumber(raw: string, show: (number: number, raw: string) => Shown): Shown {
  const number = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:E[+-]?\d+)?$/i.test(raw) ? Number(raw) : Number.NaN;
  return Number.isFinite(number) ? show(number, raw) : { text: raw };
}

function showGeneral(number: number, raw: string): Shown {
  const text = toPlain(number, raw);
  if (Math.abs(number) >= 1e15) return { text, warning: lostDigits };
  if (Number.isInteger(number) || (Math.abs(number) < 1e11 && Math.abs(number) >= 1e-4)) return { text };
  return tryFormat("General", number)?.includes("E") ? withExponent(text) : { text };
}

function showFormatted(number: number, raw: string, pattern: string): Shown {
  const shown = tryFormat(pattern, number);
  if (shown === undefined) return showGeneral(number, raw);
  if (shown.includes(overflow)) return withHashes(number, raw);
  if (/\dE[+-]\d+/.test(shown)) return withExponent(toPlain(number, raw));
  if (shown.trim() === "") return number === 0 ? { text: "" } : withHidden(toPlain(number, raw));
  return { text: shown.trim(), warning: Math.abs(number) >= 1e15 ? lostDigits : undefined };
}

function showFormattedText(text: string, pattern: string): Shown {
  const shown = tryFormat(pattern, text)?.trim();
  return shown === "" && text.trim() !== "" ? withHidden(text) : { text: shown ?? text };
}

function withHashes(number: number, raw: string): Shown {
  return { text: toPlain(number, raw), warning: "Excel shows #### here, so the number behind it is used" };
}

function withExponent(text: string): Shown {
  return { text, warning: "Excel shows this number in scientific notation, so its digits are used" };
}

function withHidden(text: string): Shown {
  return { text, warning: "the cell's format hides this value in Excel" };
}

const lostDigits = "Excel keeps only 15 digits of a number, so check the last ones";

/** The day after 31 December 9999. */
const firstInvalidDate = 2_958_466;

const secondsPerDay = 86_400;

/** Includes 29 February 1900, number 60, a day that only exists in Excel. */
function showDate(date: number, hasDate: boolean, hasTime: boolean): string {
  // Without a time, Excel doesn't round up to the next day.
  const seconds = hasTime ? Math.round(date * secondsPerDay) : Math.floor(date + 1e-8) * secondsPerDay;
  const [year, month, day] = dateFromSerial(Math.floor(seconds / secondsPerDay));
  const dayText = `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
  const time = new Date((seconds % secondsPerDay) * 1000).toISOString().slice(11, 19).replace(/:00$/, "");
  return [...(hasDate ? [dayText] : []), ...(hasTime ? [time] : [])].join(" ");
}

/** Stands for #### in what `format` returns. */
const overflow = "\u{f8ff}";

/** Undefined if the pattern is invalid. */
function tryFormat(pattern: string, value: number | string): string | undefined {
  try {
    return format(pattern, value, { overflow, dateErrorNumber: false });
  } catch {
    return undefined;
  }
}

/** Returns all digits that Excel keeps, and more if the workbook has a whole number with more. Never has an exponent. */
function toPlain(number: number, raw: string): string {
  if (/^-?\d{1,100}$/.test(raw)) return BigInt(raw).toString();
  const kept = Number.isSafeInteger(number) ? number : Number(number.toPrecision(15));
  const text = String(kept);
  if (!text.includes("e")) return text;
  if (Math.abs(kept) >= 1) return BigInt(kept).toString();
  const [, sign = "", digits = "", zeros = ""] = /^(-?)([\d.]+)e-(\d+)$/.exec(text) ?? [];
  return `${sign}0.${"0".repeat(Number(zeros) - 1)}${digits.replace(".", "")}`;
}
