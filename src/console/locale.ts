// How dates, times and numbers are written: in the language of the texts, as the reader's region writes it if the browser says so.

import { texts } from "./texts.ts";

const { language, region } = texts.locale;

/** Such as `en-US` for a browser in American English, and `en-GB` for a browser in another language. */
export const locale =
  [new Intl.DateTimeFormat().resolvedOptions().locale, ...navigator.languages].find(isOfTexts) ?? region;

/** Browsers may also name a language in a way that `Intl` does not know, such as `en-US@posix`. */
function isOfTexts(name: string): boolean {
  try {
    return new Intl.Locale(name).language === language;
  } catch {
    return false;
  }
}

/** A number with its separators. */
export function toNumber(value: number, options?: Intl.NumberFormatOptions): string {
  return value.toLocaleString(locale, options);
}
