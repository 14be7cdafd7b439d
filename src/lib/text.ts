import { distance } from "fastest-levenshtein";
import { describeOddity, toPlainCharacters } from "./characters.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Returns `length` letters and digits from the cryptographic random generator. Each of the 62 characters is equally likely. */
export function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      // Skip bytes from 248 on, the largest multiple of 62 in a byte. Otherwise some characters would be likelier than others.
      if (byte < 248 && text.length < length) text += alphabet[byte % 62];
    }
  }
  return text;
}

/** Returns the last `length` digits of `value`, a whole number from 0, in base 62. */
export function toBase62(value: number, length: number): string {
  let rest = value;
  let digits = "";
  for (let i = 0; i < length; i++) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/**
 * Escapes, as in `\\u009b`, the characters that would control a terminal (C0 and C1, except tab and LF) or reorder the text that it shows (Unicode
 * Standard Annex 9). Names and labels may contain them. JSON text keeps its meaning.
 */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Returns the address of a database without its password, for messages. The address may be invalid, and the password may have any characters. */
export function withoutPassword(url: string): string {
  if (/^sqlite:/i.test(url)) return url;
  return url
    .replace(url.includes("://") ? /(:\/\/[^:/?]*):.*@/s : /^([^:]*):.*@/s, "$1:...@")
    .replace(/(\w*pass\w*|pwd) *= *('[^']*'|"[^"]*"|[^\s;&]*)/gi, "$1=...");
}

/**
 * Returns the name in `names` that is most similar to `sent`, regardless of case; undefined if none is similar, or if `sent` has more than 200
 * characters. Names are similar if they differ in one letter, or in at most a third of the letters of `sent`. Characters that look alike don't differ.
 */
export function findNearest(sent: string, names: Iterable<string>): string | undefined {
  if (sent.length > 200) return undefined;
  const name = toPlainCharacters(sent);
  let best: string | undefined;
  let minEdits = Math.max(1, Math.floor(name.length / 3)) + 0.5;
  for (const candidate of names) {
    if (Math.abs(name.length - candidate.length) >= minEdits) continue;
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < minEdits) [best, minEdits] = [candidate, edits];
  }
  return best;
}

/**
 * Returns the dotted path in `paths` that is most similar to `path`: `Address.Town` for `Town`, `town` or `address_town`. Paths in the same group are
 * preferred. Returns undefined if none is similar, or if `path` has more than 200 characters.
 */
export function findNearestPath(path: string, paths: readonly string[]): string | undefined {
  return findSamePath(path, paths) ?? findSimilarPath(path, paths);
}

/** Returns the path that has the same letters and digits as `path`, or whose last name has those of the last name of `path`. Otherwise as `findNearestPath`. */
export function findSamePath(path: string, paths: readonly string[]): string | undefined {
  if (path.length > 200) return undefined;
  const plain = toPlainCharacters(path);
  const whole = normalizeName(plain);
  const last = normalizeName(lastOf(plain));
  return (
    siblingsOf(plain, paths).find((one) => normalizeName(one) === whole) ??
    paths.find((one) => normalizeName(one) === whole || normalizeName(lastOf(one)) === last)
  );
}

/** Returns the path whose last name differs from that of `path` in a few letters. Otherwise as `findNearestPath`. */
export function findSimilarPath(path: string, paths: readonly string[]): string | undefined {
  return nearestBy(lastOf, path, siblingsOf(path, paths)) ?? nearestBy(lastOf, path, paths);
}

/**
 * Returns a hint for a message: the name that was probably meant, or `otherwise`.
 * @param meant as `findNearest` and `findNearestPath` return it
 * @param sent the name that was sent. The hint says what people can't see in it
 */
export function formatHint(meant: string | undefined, otherwise: string, sent = ""): string {
  if (meant === undefined) return otherwise;
  const oddity = describeOddity(sent);
  return `did you mean \`${meant}\`?${oddity === undefined ? "" : ` The name you sent ${oddity}`}`;
}

/** Returns the letters and digits of a name in lower case, which are the same in every naming convention. */
export function normalizeName(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
}

function nearestBy(part: (path: string) => string, path: string, paths: readonly string[]): string | undefined {
  const meant = findNearest(part(path), paths.map(part));
  return paths.find((one) => part(one) === meant);
}

function siblingsOf(path: string, paths: readonly string[]): readonly string[] {
  return paths.filter((one) => groupOf(one) === groupOf(path));
}

/** Returns the groups of a path, with a dot at the end; empty if it has none. */
export function groupOf(path: string): string {
  return path.slice(0, path.lastIndexOf(".") + 1);
}

/** Returns the last name of a path, without its groups and without a namespace prefix. */
export function lastOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("."), path.lastIndexOf(":")) + 1);
}

/** Returns the number of letters to insert, delete or replace to turn `a` into `b`. If they differ only in two neighbours that are swapped, that's one. */
export function editDistance(a: string, b: string): number {
  const edits = distance(a, b);
  return edits === 2 && isSwap(a, b) ? 1 : edits;
}

function isSwap(a: string, b: string): boolean {
  let at = 0;
  while (a[at] === b[at]) at++;
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}

/**
 * Returns a form of `text` for comparison that ignores case: texts that differ only in case become equal. Each character is converted alone, so a
 * part of a text becomes a part of the result. `toLowerCase` alone does neither: it turns a capital sigma into `ς` at the end of a word and into
 * `σ` elsewhere, and `ß` and `SS` stay different.
 */
export function foldCase(text: string): string {
  // The first step is for letters such as `ẞ`: it is already a capital, but only its lower case `ß` becomes `SS`.
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");
}

/**
 * Parses a time such as `2026-01-31` or `2026-01-31T12:00Z`. Returns milliseconds since 1970; NaN if the text is not a time, or if its month does not
 * have that day. `Date.parse` alone would read 2026-02-30 as 2026-03-02.
 */
export function parseTime(text: string): number {
  const at = Date.parse(text);
  const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
  if (Number.isNaN(at) || day === undefined) return at;
  return new Date(day).toISOString().startsWith(day) ? at : Number.NaN;
}

/** Escapes `text` for an element, or for the value of an attribute in double quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
