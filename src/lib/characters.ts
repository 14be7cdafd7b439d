// Describes characters that people can't see, or can't tell from others, so that messages can name them.

/** By code point. Other invisible characters are named by their category. */
const names: ReadonlyMap<number, string> = new Map([
  [0x00, "NUL"],
  [0x07, "bell"],
  [0x08, "backspace"],
  [0x09, "tab"],
  [0x0a, "line feed"],
  [0x0b, "vertical tab"],
  [0x0c, "form feed"],
  [0x0d, "carriage return"],
  [0x1b, "escape"],
  [0x7f, "delete"],
  [0x85, "next line"],
  [0xa0, "no-break space"],
  [0xad, "soft hyphen"],
  [0x200b, "zero-width space"],
  [0x200c, "zero-width non-joiner"],
  [0x200d, "zero-width joiner"],
  [0x200e, "left-to-right mark"],
  [0x200f, "right-to-left mark"],
  [0x2028, "line separator"],
  [0x2029, "paragraph separator"],
  [0x202f, "narrow no-break space"],
  [0x2060, "word joiner"],
  [0x2800, "blank Braille pattern"],
  [0x3000, "ideographic space"],
  [0x3164, "Hangul filler"],
  [0xfeff, "byte order mark"],
  [0xfffd, "replacement character"],
  [0xfffe, "noncharacter"],
  [0xffff, "noncharacter"],
]);

const categories: readonly [RegExp, string][] = [
  [/\p{Zs}/u, "space"],
  [/\p{Cc}/u, "control character"],
  [/\p{Cs}/u, "half of a surrogate pair"],
  [/\p{Co}/u, "private-use character"],
  [/\p{Cn}/u, "unassigned character"],
  [/[\p{C}\p{Default_Ignorable_Code_Point}]/u, "invisible character"],
];

const unseen = /^[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffd]$/u;
const invisible = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Letters that look like an ASCII letter, each followed by that letter: Cyrillic, Greek, then Latin letters without a decomposition. */
const pairs =
  "\u0410A\u0412B\u0415E\u041aK\u041cM\u041dH\u041eO\u0420P\u0421C\u0422T\u0423Y\u0425X\u0405S\u0406I\u0408J" +
  "\u0430a\u0435e\u043eo\u0440p\u0441c\u0443y\u0445x\u0455s\u0456i\u0458j\u04bbh\u0501d\u051bq\u051dw" +
  "\u0391A\u0392B\u0395E\u0396Z\u0397H\u0399I\u039aK\u039cM\u039dN\u039fO\u03a1P\u03a4T\u03a5Y\u03a7X" +
  "\u03b1a\u03b9i\u03bdv\u03bfo\u03c1p\u0131i\u0251a\u0261g";
const lookAlikes: ReadonlyMap<string, string> = new Map(
  [...pairs.matchAll(/(.)(.)/gu)].map(([, odd = "", letter = ""]) => [odd, letter]),
);

/** Names a character for a message. If it's invisible or looks like another one, its code point and name are added. */
export function describeCharacter(code: number): string {
  if (code === 0x20) return "a space";
  if (code === 0x60) return "a backtick";
  const character = String.fromCodePoint(code);
  const number = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  if (unseen.test(character)) {
    const name = names.get(code) ?? categories.find(([pattern]) => pattern.test(character))?.[1];
    return name === undefined ? number : `${number} (${name})`;
  }
  const kind = code < 0x80 ? undefined : kindOf(character);
  return kind === undefined ? `\`${character}\`` : `\`${character}\` (${number}, ${kind})`;
}

/** Returns a hint for an odd character found where punctuation or white space belongs; empty if the character isn't odd. */
export function characterHint(code: number): string {
  const character = String.fromCodePoint(code);
  if (code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d) return "";
  if (/\p{Z}/u.test(character)) return "; use a normal space, or none";
  if (unseen.test(character)) return "; remove it";
  if (/[\u2018-\u201f]/.test(character)) return '; use `"`';
  const plain = /\p{Pd}/u.test(character) ? "-" : toPlainCharacters(character);
  return code >= 0x80 && /^[!-~]$/.test(plain) ? `; use \`${plain}\`` : "";
}

/** Undefined if the character doesn't look like another. */
function kindOf(character: string): string | undefined {
  if (/[\u2018-\u201f]/.test(character)) return "a curly quote";
  if (/\p{Pd}/u.test(character)) return "a dash";
  if (/\p{Script=Cyrillic}/u.test(character)) return "a Cyrillic letter";
  if (/\p{Script=Greek}/u.test(character)) return "a Greek letter";
  const plain = toPlainCharacters(character);
  return /^[!-~]$/.test(plain) ? `not \`${plain}\`` : undefined;
}

/** Returns a name as it looks: without invisible characters and outer spaces, and with look-alikes replaced by ASCII letters. */
export function toPlainCharacters(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII
  if (/^[\x00-\x7f]*$/.test(name)) return name.trim();
  const plain = name.normalize("NFKC").replace(invisible, "").trim();
  return plain.replace(/[^\0-\x7f]/gu, (character) => lookAlikes.get(character) ?? character);
}

/** How far `describeOddity` looks, in UTF-16 units. */
const maxSearchLength = 200;

/**
 * Says what people can't see in a name or code that should be plain ASCII, as a phrase to put after it: `ends with a space`. Returns undefined if its first
 * 200 characters are all visible and distinct.
 */
export function describeOddity(name: string): string | undefined {
  const characters = [...name.slice(0, maxSearchLength)];
  for (const [index, character] of characters.entries()) {
    const code = character.codePointAt(0) as number;
    const isOuter = index === 0 || index === characters.length - 1;
    const isOdd = code < 0x80 ? code < 0x20 || code === 0x7f || (code === 0x20 && isOuter) : isLookAlike(character);
    if (!isOdd) continue;
    const verb = index === 0 ? "starts with" : isOuter && name.length <= maxSearchLength ? "ends with" : "contains";
    return `${verb} ${describeCharacter(code)}`;
  }
  return undefined;
}

function isLookAlike(character: string): boolean {
  return unseen.test(character) || /^[!-~]$/.test(toPlainCharacters(character)) || kindOf(character) !== undefined;
}
