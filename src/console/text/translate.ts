// Gives the texts of `texts.ts` to the console, sets messages of the server as sentences, and shows invisible characters in texts of other people.

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

/** Sets a message of the server as a sentence: "the site `garden` exists already" becomes "The site “garden” exists already." No word changes. */
export function toSentence(message: string): string {
  const text = message.replace(/^`(\w+)`: /, "$1: ").replace(/`([^`]*)`/g, "“$1”");
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/**
 * Replaces invisible characters that change the direction of text by their code points, such as `[U+202E]`. Otherwise a name could look like
 * another name. If no character of a text is visible, all are replaced, because otherwise nothing could be clicked.
 */
export function showInvisible(text: string): string {
  const replaced = nothingVisible.test(text) ? anyCharacter : directionControl;
  return text.replace(replaced, (character) => `[U+${hexOf(character)}]`);
}

const directionControl = /\p{Bidi_Control}/gu;
const nothingVisible = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u;
const anyCharacter = /./gsu;

function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
