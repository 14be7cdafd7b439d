// What to do about malformed JSON. Following the advice stores what was meant. Only rejected text gets here, and only a few hundred characters around the
// error are read.

import { characterHint, describeCharacter } from "../lib/characters.ts";
import { invalidInXml } from "../model/field.ts";
import { guessForm } from "./other-forms.ts";
import { notShown, shownAt } from "./syntax-errors.ts";
import { findWideEncoding } from "./text-encoding.ts";

/** What was expected. `start` is a value at the start of a body, `end` the end of the text. */
export type Place = "start" | "value" | "name" | "colon" | "member" | "item" | "end";

const expected: Readonly<Record<Place, string>> = {
  start: "a value",
  value: "a value",
  name: "a name in double quotes",
  colon: "`:` after the name",
  member: "`,` or `}`",
  item: "`,` or `]`",
  end: "",
};

/** The error for an unexpected character at index `at`. */
export function unexpectedDetail(text: string, at: number, place: Place): string {
  const hint = hintAt(text, at, place);
  const advice = hint === "" ? "" : `; ${hint}`;
  if (place === "end") return `${shownAt(text, at)} follows the end of the value${advice}`;
  const sent = advice === "" ? notShown(text, at) : `not ${shownAt(text, at)}`;
  return `expected ${expected[place]}, ${sent}${advice}`;
}

/** How many characters to read before and after an error. */
const contextLength = 200;
/** Longer values aren't repeated in messages. */
const maxShownValue = 40;

/** What some programs write instead of null or a number. */
const noValue = /^-?(?:None|undefined|Null|NULL|nil|NIL|NaN|nan|NA|NaT|Inf|inf|Infinity)(?![\w.(])/;
const leaveOut = 'leave the field out, or send `""` for an empty value';
const innerQuote = 'write a `"` inside a string as `\\"`';

/** Mistakes that are the same wherever they are, by the text at the error. */
const mistakes: readonly [RegExp, string][] = [
  [/^(?:\/\/|\/\*|#|<!--|--)/, "JSON has no comments"],
  [/^\\["n]/, 'this is escaped twice; outside strings, write `"` without the backslash, and no `\\n`'],
  [/^&(?:quot|#34|#x22);/i, 'this is escaped for HTML; write `"` for `&quot;`'],
  [/^(?:\{\{|\$\{|<%)/, "this placeholder wasn't filled in"],
  [/^(?:'|`)/, "JSON takes double quotes only"],
  [/^[uUbBrRfF]{1,2}["']/, "write strings in double quotes, without a letter before them"],
  [/^object \w+\]/, "this is how JavaScript prints an object; send the result of JSON.stringify"],
];

function hintAt(text: string, at: number, place: Place): string {
  const rest = text.slice(at, at + contextLength);
  const before = text.slice(Math.max(0, at - contextLength), at);
  if (rest === "") return place === "start" ? "" : "the end is missing";
  if (rest[0] === "\0" && at < 4) return utf16Hint(text);
  if (place === "start") {
    if (characterHint(rest.codePointAt(0) as number) !== "") return "";
    return guessForm(rest)?.hint ?? "JSON begins with `{` or `[`";
  }
  const isPlaceholder = before.endsWith("{") && rest.startsWith("{");
  const mistake = mistakes.find(([pattern]) => pattern.test(isPlaceholder ? `{${rest}` : rest));
  if (mistake) return mistake[1];
  const last = before.trimEnd().at(-1) ?? "";
  switch (place) {
    case "value":
      return valueHint(rest, last);
    case "name":
      return nameHint(rest, before);
    case "colon":
      return rest.startsWith("=") ? "write `:` between a name and its value" : "";
    case "end":
      return endHint(rest);
    default:
      return separatorHint(rest, before, last);
  }
}

function utf16Hint(text: string): string {
  const encoding = findWideEncoding(Buffer.from(text.slice(0, 4), "latin1"));
  return encoding === undefined ? "" : `the text is in ${encoding}; send UTF-8`;
}

function valueHint(rest: string, last: string): string {
  if (/^[}\],]/.test(rest)) {
    if (last === ":") return `the value is missing; ${leaveOut}`;
    return rest[0] === "," ? "remove one of the commas" : "remove the comma before it";
  }
  const [word] = noValue.exec(rest) ?? [];
  if (word !== undefined) return `\`${word}\` isn't JSON; ${leaveOut}`;
  if (!/^[\p{L}\p{N}_$+.-]/u.test(rest)) return "";
  return `strings need double quotes${quoted(rest)}`;
}

function nameHint(rest: string, before: string): string {
  if (rest[0] === "}") return "remove the comma before it";
  if (rest[0] === ",") return "remove one of the commas";
  // After a decimal comma, we expect a name.
  const [, whole] = /([0-9.]{1,20}),$/.exec(before) ?? [];
  const [fraction] = /^[0-9]{1,20}(?=\s*[,}])/.exec(rest) ?? [];
  if (whole !== undefined && fraction !== undefined)
    return `strings need double quotes: write \`"${whole},${fraction}"\``;
  const [name] = /^[\p{L}_$][\p{L}\p{N}_$.-]{0,39}(?=\s*:)/u.exec(rest) ?? [];
  if (name !== undefined) return `names need double quotes: write \`"${name}"\``;
  return /^[\p{L}\p{N}_$]/u.test(rest) ? "names need double quotes" : "";
}

function separatorHint(rest: string, before: string, last: string): string {
  const isAfterText = last === '"';
  const curly = isAfterText ? /[\u201c-\u201f\uff02](?=[^"]*"\s*$)/.exec(before)?.[0] : undefined;
  if (curly !== undefined) return curlyHint(curly);
  if (rest[0] === '"') {
    const isName = /^"[^"]*"\s*:/.test(rest);
    return isAfterText && before.endsWith('"') && !isName ? innerQuote : missingComma;
  }
  if (/^(?:[{[]|[\p{L}_][\p{L}\p{N}_]*\s*:)/u.test(rest)) return missingComma;
  if (rest[0] === ";") return "write a comma";
  if (isAfterText && /^[+.&|]/.test(rest)) return "JSON has no expressions; write one string";
  if (isAfterText) return /^[\p{L}\p{N}_(]/u.test(rest) ? innerQuote : "";
  // An unquoted string that starts like a number or a JSON word: `00123`, `2026-01-31`, `12:30`, `5 kg`.
  const [, begin] = /[:,[{]\s*([^:,[\]{}"\r\n]{1,40})$/.exec(before) ?? [];
  return begin !== undefined && /^[\p{L}\p{N}_.+:/@%*$-]/u.test(rest)
    ? `strings need double quotes${quoted(begin + rest)}`
    : "";
}

const missingComma = "a comma is missing before it";

function curlyHint(quote: string): string {
  return `${describeCharacter(quote.charCodeAt(0))} doesn't end a string; write \`"\``;
}

function endHint(rest: string): string {
  if (/^[{["]/.test(rest))
    return "to send several records, use a batch request (POST /restapi/batch.json), or one list in a file";
  return /^[}\],;\0]/.test(rest) || characterHint(rest.codePointAt(0) as number) !== "" ? "remove it" : "";
}

/** Puts the value at the start of `rest` in double quotes, if it's short and ends on the same line. */
function quoted(rest: string): string {
  const [value = ""] = /^[^,}\]\p{Cc}"\\]*/u.exec(rest) ?? [];
  const isWhole = value.length < rest.length && !/^["\\]/.test(rest.slice(value.length));
  const shown = value.trim();
  return isWhole && shown !== "" && shown.length <= maxShownValue ? `: write \`"${shown}"\`` : "";
}

/** The error for a backslash at index `at` that doesn't start a JSON escape, in the string that starts at `start`. */
export function escapeDetail(text: string, at: number, start: number): string {
  const rest = text.slice(at, at + contextLength);
  const before = text.slice(Math.max(start, at - contextLength), at);
  const [shown] = otherEscapes.exec(rest) ?? [];
  if (shown !== undefined) {
    const isInPath = windowsPath.test(before) && /^\\[\p{L}\p{N}_. ]/u.test(shown);
    return `\`${shown}\` isn't a JSON escape; ${isInPath ? eachBackslash : escapeAdvice(shown)}`;
  }
  if (rest === "\\") return "unterminated string; the end is missing";
  return "a string must not contain a line break, even after a backslash; write it as `\\n`, or join the lines";
}

/** Escapes from other languages, and any other character after a backslash. */
const otherEscapes =
  /^\\(?:u\{[0-9A-Fa-f]{1,8}\}|U[0-9A-Fa-f]{8}|u[0-9A-Fa-f]{1,3}|x[0-9A-Fa-f]{2}(?:\\x[89A-Fa-f][0-9A-Fa-f]){0,3}|[0-7]{1,3}|[^\r\n])/u;
/** Matches the start of a Windows path before a backslash. */
const windowsPath = /["'\s(=](?:[A-Za-z]:|\\\\)[^"]*$/;
const eachBackslash = "write each literal backslash as `\\\\`";

function escapeAdvice(shown: string): string {
  if (shown === "\\'") return "write `'` without the backslash";
  if (/^\\x./.test(shown)) return hexadecimalAdvice(shown);
  const [, digits, octal] = /^\\(?:[uU]\{?([0-9A-Fa-f]+)\}?|([0-7]+))$/.exec(shown) ?? [];
  const code = octal === undefined ? Number.parseInt(digits ?? "", 16) : Number.parseInt(octal, 8);
  if (code <= 0x10ffff) return characterAdvice(String.fromCodePoint(code), shown);
  const control = { a: "\x07", e: "\x1b", v: "\v" }[shown.slice(1)];
  if (control !== undefined) return characterAdvice(control, shown);
  if (/^\\[\p{L}\p{N}]/u.test(shown)) return eachBackslash;
  const character = describeCharacter(shown.codePointAt(1) as number);
  return `write ${character} without the backslash, or \`\\${shown}\` if you mean a literal backslash`;
}

/** For `\xc3\xa9`, advises the first character if the bytes are UTF-8, otherwise the first byte in Latin-1. */
function hexadecimalAdvice(shown: string): string {
  const bytes = Buffer.from(shown.replaceAll("\\x", ""), "hex");
  const [character = ""] = bytes.toString();
  const isUtf8 = bytes.length > 1 && character !== "\ufffd";
  const [one = "", used] = isUtf8 ? [character, Buffer.byteLength(character)] : [bytes.toString("latin1", 0, 1), 1];
  const escapes = shown.slice(0, 4 * used);
  return `${escapes === shown ? "" : `for \`${escapes}\`, `}${characterAdvice(one, escapes)}`;
}

/** How to write a character that `shown` stands for in other languages. */
function characterAdvice(character: string, shown: string): string {
  const code = character.codePointAt(0) as number;
  const short = JSON.stringify(character).slice(1, -1);
  const text = `\`${shown.replaceAll("\\", "\\\\")}\` if you mean a literal backslash`;
  if (isUnstorable(character))
    return `it stands for ${describeCharacter(code)}, which records can't contain; leave it out, or write ${text}`;
  const isSeen = short !== character || code === 0x20 || describeCharacter(code).startsWith("`");
  return `write \`${isSeen ? short : toUnicodeEscape(character)}\`, or ${text}`;
}

function toUnicodeEscape(character: string): string {
  return character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Records can't contain characters that XML can't (contract section 4). */
function isUnstorable(character: string): boolean {
  return invalidInXml.test(character) || !character.isWellFormed();
}

/** The error for a control character at index `at` in a string. */
export function controlDetail(text: string, at: number): string {
  const code = text.charCodeAt(at);
  const shown = `a string must not contain ${shownAt(text, at)}`;
  if (isUnstorable(text.charAt(at))) return `${shown}; leave it out`;
  if (code === 0x09) return `${shown} as it is; write \`\\t\``;
  const written = text.startsWith("\r\n", at) ? "\\r\\n" : code === 0x0d ? "\\r" : "\\n";
  // If a name or the end of an object follows, the quote is missing.
  const isOpen = /^\s*(?:"[^"\r\n]{1,100}"\s*:|[}\]])/.test(text.slice(at, at + contextLength));
  return `${shown} as it is; ${isOpen ? 'close the string with `"` before it, or ' : ""}write \`${written}\``;
}

/** The error for a string that starts at `start` and never ends. */
export function openStringDetail(text: string, start: number): string {
  const [line = ""] = /^[^\r\n]*/.exec(text.slice(start, start + contextLength)) ?? [];
  const [curly] = /[\u201c-\u201f\uff02]/.exec(line) ?? [];
  return `unterminated string${curly === undefined ? "" : `; ${curlyHint(curly)}`}`;
}
