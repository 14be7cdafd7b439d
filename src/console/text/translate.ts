// Looks up texts from `texts.ts`, turns server messages into sentences, and makes invisible characters visible.

import { texts } from "../texts.ts";

type Sections = Omit<typeof texts, "locale">;

type KeysOfSections = { [Section in keyof Sections]: `${Section}.${keyof Sections[Section] & string}` };

/** A text's section in `texts.ts` and its name there, such as `keys.revoke_title`. */
export type TextKey = KeysOfSections[keyof Sections];

const plurals = new Intl.PluralRules(texts.locale.language);

/**
 * Returns the text for `key`. A key may be a template such as `keys.${task}`: its type covers all possible values, so the compiler notices missing
 * texts.
 * @param values replace `%{name}` in the text. `smart_count` also selects the singular or the plural, which `||||` separates
 */
export function translate(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  const [section = "", name = ""] = key.split(".");
  const text = (texts as unknown as Record<string, Record<string, string>>)[section]?.[name] ?? key;
  return formOf(text, values.smart_count).replace(/%\{(\w+)\}/g, (whole, value: string) =>
    String(values[value] ?? whole),
  );
}

/** Returns the first form for 1, otherwise the last. */
function formOf(text: string, count: string | number | undefined): string {
  if (count === undefined) return text;
  const forms = text.split("||||");
  const isOne = plurals.select(Number(count)) === "one";
  return (forms[isOne ? 0 : forms.length - 1] ?? text).trim();
}

/**
 * Turns a server message into a sentence: "the site `garden` exists already" becomes "The site “garden” exists already." Doesn't change any words.
 */
export function toSentence(message: string): string {
  const text = message.replace(/^`(\w+)`: /, "$1: ").replace(/`([^`]*)`/g, "“$1”");
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/**
 * Replaces characters that change the direction of text with their code points, such as `[U+202E]`. Otherwise one name could be made to look like
 * another. If a text has no visible characters at all, all of them are replaced, so that there's something to click.
 */
export function showInvisible(text: string): string {
  const replaced = nothingVisible.test(text) ? anyCharacter : directionControl;
  return text.replace(replaced, (character) => `[U+${hexOf(character)}]`);
}

/** Returns a record's name for messages and labels: shortened, or its ID if it has none. */
export function nameOf(name: string, id: number): string {
  return shorten(showInvisible(name), 60) || `#${id}`;
}

/** Cuts a text to this many characters. */
export function shorten(text: string, length: number): string {
  // Don't cut a character in two.
  return text.length > length ? `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "")}…` : text;
}

const directionControl = /\p{Bidi_Control}/gu;
const nothingVisible = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u;
const anyCharacter = /./gsu;

function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
