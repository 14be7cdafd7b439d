// Gives the texts of `texts.ts` to the console (`translate`) and to react-admin (`i18nProvider`).

import polyglotI18nProvider from "ra-i18n-polyglot";
import { texts } from "../texts.ts";

type Sections = Omit<typeof texts, "locale" | "ra">;

type KeysOfSections = { [Section in keyof Sections]: `${Section}.${keyof Sections[Section] & string}` };

/** The key of a text: its section in `texts.ts`, a dot, and its name there, such as `keys.revoke_title`; or the key of a text of react-admin. */
export type TextKey = KeysOfSections[keyof Sections] | "ra.action.select_columns";

export const i18nProvider = polyglotI18nProvider(() => texts, "en", [{ locale: "en", name: "English" }], {
  allowMissing: true,
});

/**
 * Returns the text of `key`. The type of a key that is put together, such as `keys.${task}`, has all its possible values, so the compiler finds
 * a text that is missing.
 * @param values the values for `%{name}` in the text. `smart_count` also selects the singular or the plural, which `||||` separates
 */
export function translate(key: TextKey, values?: Readonly<Record<string, string | number>>): string {
  return i18nProvider.translate(key, values);
}
