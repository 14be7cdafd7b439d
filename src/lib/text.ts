import { distance } from "fastest-levenshtein";
import { describeOddity, toPlainCharacters } from "./characters.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Returns `length` cryptographically random letters and digits, all 62 equally likely. */
export function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      // 248 is the largest multiple of 62 in a byte. Bytes from there on would make some characters likelier than others.
      if (byte < 248 && text.length < length) text += alphabet[byte % 62];
    }
  }
  return text;
}

/** Returns the last `length` base-62 digits of `value`, a whole number that isn't negative. */
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
 * Escapes characters that would control a terminal (C0 and C1, except tab and LF) or reorder its text (Unicode Standard Annex 9) as `\\u009b`, because
 * names and labels may contain them. JSON keeps its meaning.
 */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Hides the password in a database's address, for messages. The address may be invalid, and the password may contain anything. */
export function withoutPassword(url: string): string {
  if (/^sqlite:/i.test(url)) return url;
  return url
    .replace(url.includes("://") ? /(:\/\/[^:/?]*):.*@/s : /^([^:]*):.*@/s, "$1:...@")
    .replace(/(\w*pass\w*|pwd) *= *('[^']*'|"[^"]*"|[^\s;&]*)/gi, "$1=...");
}

/**
 * Returns the name closest to `sent`, ignoring case; undefined if none is close, or if `sent` has more than 200 characters. A name is close if it differs in
 * one letter, or in at most a third of the letters in `sent`. Look-alike characters count as equal.
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
 * Returns the dotted path closest to `path`: `Address.Town` for `Town`, `town` or `address_town`. Paths in the same group are preferred. Returns undefined
 * if none is close, or if `path` has more than 200 characters.
 */
export function findNearestPath(path: string, paths: readonly string[]): string | undefined {
  return findSamePath(path, paths) ?? findSimilarPath(path, paths);
}

/** Like `findNearestPath`, but all letters and digits have to match, at least those of the last name. */
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

/** Like `findNearestPath`, but only compares the last name, which may differ in a few letters. */
export function findSimilarPath(path: string, paths: readonly string[]): string | undefined {
  return nearestBy(lastOf, path, siblingsOf(path, paths)) ?? nearestBy(lastOf, path, paths);
}

/**
 * Returns a hint for a message: the name they probably meant, or `otherwise`.
 * @param meant from `findNearest` or `findNearestPath`
 * @param sent the name they sent. The hint says what people can't see in it
 */
export function formatHint(meant: string | undefined, otherwise: string, sent = ""): string {
  if (meant === undefined) return otherwise;
  const oddity = describeOddity(sent);
  return `did you mean \`${meant}\`?${oddity === undefined ? "" : ` The name you sent ${oddity}`}`;
}

/** Keeps only letters and digits, in lower case, so that every naming convention gives the same result. */
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

/** Returns everything up to a path's last dot, including it; empty if there's none. */
export function groupOf(path: string): string {
  return path.slice(0, path.lastIndexOf(".") + 1);
}

/** Returns a path's last name, without groups or a namespace prefix. */
export function lastOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("."), path.lastIndexOf(":")) + 1);
}

/** Counts the letters to insert, delete or replace to turn `a` into `b`. A single swap of two neighbours counts as one. */
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
 * Folds case for comparisons. Each character is converted on its own, so part of a text becomes part of the result. `toLowerCase` won't do: it turns a
 * capital sigma into `ς` at the end of a word and `σ` elsewhere, and keeps `ß` and `SS` apart.
 */
export function foldCase(text: string): string {
  // The first step handles `ẞ`, a capital that only becomes `SS` by way of its lower case `ß`.
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");
}

/**
 * Parses a time such as `2026-01-31` or `2026-01-31T12:00Z` into milliseconds since 1970; NaN if it isn't one, or if the month doesn't have that day.
 * `Date.parse` alone would read 2026-02-30 as 2026-03-02.
 */
export function parseTime(text: string): number {
  const at = Date.parse(text);
  const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
  if (Number.isNaN(at) || day === undefined) return at;
  return new Date(day).toISOString().startsWith(day) ? at : Number.NaN;
}

/** @returns milliseconds since 1970, or undefined unless it's a day or a time with its zone */
export function parseUtcTime(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text)) return undefined;
  const at = parseTime(text);
  return Number.isNaN(at) ? undefined : at;
}

/** 100 years. */
const maxDurationMs = 36_525 * 86_400_000;
const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `90d`, `24h` or `30m` in milliseconds, or undefined if it isn't one or over 100 years. */
export function toDuration(text: string): number | undefined {
  const [, count, unit = ""] = /^([0-9]{1,10})([smhdw])$/.exec(text) ?? [];
  const duration = Number(count) * (units[unit] ?? 0);
  return duration > 0 && duration <= maxDurationMs ? duration : undefined;
}

/** Escapes `text` for an element or a double-quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
