// What to do about malformed XML. Following the advice stores what was meant.

import { describeCharacter } from "../lib/characters.ts";
import { invalidInXml } from "../model/field.ts";
import { characterOfEntity } from "./html-entities.ts";

/** XML 1.0 section 4.6. */
export const predefinedEntities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

/** A numeric reference, hexadecimal or decimal. */
const numeric = /^&#(?:[xX]([0-9A-Fa-f]{1,40})|([0-9]{1,40}))(;?)/;

/** The error for an `&` at index `at` that doesn't start a valid reference. */
export function referenceDetail(text: string, at: number): string {
  const sent = text.slice(at, at + 41);
  const shown = `\`${/^&[^\s&;<]*;?/.exec(sent)?.[0] ?? "&"}\``;
  const [, hexadecimal, decimal, end] = numeric.exec(sent) ?? [];
  if (end !== undefined) {
    const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
    const fault = numberFault(text, at, code);
    if (fault !== undefined) return `${shown} ${fault}`;
    const valid = hexadecimal === undefined ? `&#${decimal};` : `&#x${hexadecimal};`;
    return `${shown} isn't a valid reference; write \`${valid}\`, ${end === "" ? "with the semicolon" : "with a lowercase x"}`;
  }
  const [, digits] = /^&([0-9]{1,6});/.exec(sent) ?? [];
  if (digits)
    return `${shown} isn't a valid reference; write \`&#${digits};\`, or \`&amp;${digits};\` for the literal text`;
  const [, name = "", semicolon] = /^&([A-Za-z][A-Za-z0-9]*)(;?)/.exec(sent) ?? [];
  const known = Object.hasOwn(predefinedEntities, name.toLowerCase()) ? `\`&${name.toLowerCase()};\`` : undefined;
  if (known)
    return `${shown} isn't a valid reference; write ${known}${semicolon ? " in lower case" : ", with the semicolon"}`;
  const character = characterOfEntity(name);
  if (character !== undefined) {
    const missing = semicolon ? "" : `, or \`&amp;${name}\` for the literal text`;
    return `\`&${name}${semicolon}\` is an HTML entity, not an XML one; write ${inXml(character)}${missing}`;
  }
  if (name === "" || !semicolon) return `${shown} isn't a valid reference; write \`&\` as \`&amp;\``;
  return `${shown} is unknown; write the character itself or its number, such as \`&#233;\`, or \`&amp;${name};\` for the literal text`;
}

/** What's wrong with a reference to character `code`; undefined if there is such a character. */
function numberFault(text: string, at: number, code: number): string | undefined {
  if (code >= 0xd800 && code <= 0xdfff) {
    const pair = /^&#([xX]?[0-9A-Fa-f]{1,8});&#([xX]?[0-9A-Fa-f]{1,8});/.exec(text.slice(at, at + 30))?.slice(1) ?? [];
    const character = String.fromCharCode(
      ...pair.map((digits) => Number(digits.replace(/^[xX]?/, /^x/i.test(digits) ? "0x" : ""))),
    );
    if (character.length < 2 || !character.isWellFormed())
      return "is half of a surrogate pair; write the whole character, or leave it out";
    return `is half of a character; write both halves as one: ${inXml(character, 16)}`;
  }
  if (code > 0x10ffff) return "isn't a character; write the character itself, or leave it out";
  if (!invalidInXml.test(String.fromCodePoint(code))) return undefined;
  return `is ${describeCharacter(code)}, which XML can't contain; leave it out`;
}

/** How to write a character in XML: as itself, unless nobody would see it, or as its number. */
function inXml(character: string, radix = 10): string {
  const code = character.codePointAt(0) as number;
  const name = Object.keys(predefinedEntities).find((one) => predefinedEntities[one] === character);
  const number = radix === 16 ? `\`&#x${code.toString(16).toUpperCase()};\`` : `\`&#${code};\``;
  if (name !== undefined && name !== "quot") return `\`&${name};\``;
  const shown = describeCharacter(code);
  return shown.startsWith("`") ? `\`${character}\`, or ${number}` : `${number} for ${shown}`;
}

/** How to write the unquoted attribute value at index `at`. */
export function quotesHint(text: string, at: number): string {
  const [value] = /^[^\s"'<>&=`/\u2018-\u201f]{1,40}(?=[\s/>])/.exec(text.slice(at, at + 50)) ?? [];
  return value === undefined ? "" : `; write \`"${value}"\``;
}
