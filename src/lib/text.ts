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
  let minDistance = Math.max(1, Math.floor(name.length / 3)) + 0.5;
  for (const candidate of names) {
    if (Math.abs(name.length - candidate.length) >= minDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < minDistance) [best, minDistance] = [candidate, distance];
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

/** Returns the number of letters to insert, delete, replace or swap with their neighbour to turn `a` into `b` (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  const at = (row: readonly number[], index: number) => row[index] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let distance = Math.min(replaced, at(last, j) + 1, at(row, j - 1) + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) distance = Math.min(distance, at(beforeLast, j - 2) + 1);
      row.push(distance);
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, b.length);
}

/** Whether at most one letter must be inserted, deleted, replaced or swapped with its neighbour to turn `a` into `b`. */
export function isOneEditApart(a: string, b: string): boolean {
  const most = Math.min(a.length, b.length);
  let start = 0;
  while (start < most && a[start] === b[start]) start++;
  let end = 0;
  while (end < most - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [ofA, ofB] = [a.length - start - end, b.length - start - end];
  if (ofA <= 1 && ofB <= 1) return true;
  return ofA === 2 && ofB === 2 && a[start] === b[start + 1] && a[start + 1] === b[start];
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
