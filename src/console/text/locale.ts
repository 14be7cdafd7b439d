// The locale for dates, times and numbers: the language of the texts, and the reader's region if the browser has the same language.

import { texts } from "../texts.ts";

const { language, region } = texts.locale;

/** The locale, such as `en-US` for a browser in American English, and `en-GB` for a browser in another language. */
export const locale =
  [new Intl.DateTimeFormat().resolvedOptions().locale, ...navigator.languages].find(isOfTexts) ?? region;

/** Whether a locale has the language of the texts. False for a name that `Intl` does not know: some browsers report `en-US@posix`. */
function isOfTexts(name: string): boolean {
  try {
    return new Intl.Locale(name).language === language;
  } catch {
    return false;
  }
}

export function toNumber(value: number, options?: Intl.NumberFormatOptions): string {
  return value.toLocaleString(locale, options);
}

/** Returns a text that begins with a capital letter. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
