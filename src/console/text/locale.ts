// The locale for dates, times and numbers: the language of the texts, with the reader's region if the browser uses the same language.

import { texts } from "../texts.ts";

const { language, region } = texts.locale;

/** For example `en-US` for a browser in American English, or `en-GB` for one in another language. Bun has no `languages`. */
export const locale =
  [new Intl.DateTimeFormat().resolvedOptions().locale, ...(navigator.languages ?? [])].find(isInTextLanguage) ?? region;

/** Whether a locale's language is that of the texts. False for names that `Intl` doesn't know: some browsers report `en-US@posix`. */
function isInTextLanguage(name: string): boolean {
  try {
    return new Intl.Locale(name).language === language;
  } catch {
    return false;
  }
}

export function toNumber(value: number, options?: Intl.NumberFormatOptions): string {
  return value.toLocaleString(locale, options);
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
