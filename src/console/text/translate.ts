// Gives the texts of `texts.ts` to the console.

import { texts } from "../texts.ts";

type Sections = Omit<typeof texts, "locale">;

type KeysOfSections = { [Section in keyof Sections]: `${Section}.${keyof Sections[Section] & string}` };

/** The key of a text: its section in `texts.ts`, a dot, and its name there, such as `keys.revoke_title`. */
export type TextKey = KeysOfSections[keyof Sections];

const plurals = new Intl.PluralRules(texts.locale.language);

/**
 * Returns the text of `key`. The type of a key that is put together, such as `keys.${task}`, has all its possible values, so the compiler finds
 * a text that is missing.
 * @param values the values for `%{name}` in the text. `smart_count` also selects the singular or the plural, which `||||` separates
 */
export function translate(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  const [section = "", name = ""] = key.split(".");
  const text = (texts as unknown as Record<string, Record<string, string>>)[section]?.[name] ?? key;
  return formOf(text, values.smart_count).replace(/%\{(\w+)\}/g, (whole, value: string) =>
    String(values[value] ?? whole),
  );
}

/** Returns the form of a text for a number: the first one for the singular, the last one otherwise. */
function formOf(text: string, count: string | number | undefined): string {
  if (count === undefined) return text;
  const forms = text.split("||||");
  const isOne = plurals.select(Number(count)) === "one";
  return (forms[isOne ? 0 : forms.length - 1] ?? text).trim();
}
