// An API key is `sfk_`, or `sfk_test_` for a sandbox, followed by 36 random letters and digits (214 bits) and a six-character checksum.
// The start makes keys recognizable to people and programs. Only sandbox keys have a second underscore, so the two can't be confused. With the
// checksum, secret scanners and clients spot a mistyped key without a request.

import { randomText, toBase62 } from "../lib/text.ts";

const mark = "sfk_";
const sandboxMark = "sfk_test_";
const randomLength = 36;
const checksumLength = 6;
/** Letters and digits after the `sfk_` or `sfk_test_`. */
export const keyLength = randomLength + checksumLength;
/** Random characters that are safe to show: 166 random bits stay secret. */
const shownRandomLength = 8;
/** Minimum random characters for a prefix to identify a key. With fewer, it would be too easy to revoke the wrong one. */
const minRandomLength = 4;
const marks = "sfk_(?:test_)?";
const form = new RegExp(`^${marks}[0-9A-Za-z]{${keyLength}}$`);
const longerThanShown = new RegExp(`${marks}[0-9A-Za-z]{${shownRandomLength + 1},}`, "g");
/** A percent-encoded letter, digit or underscore. */
const encodedCharacter = /%(?:3\d|[46][1-9a-f]|[57][\da]|5f)/gi;
const partial = new RegExp(`^${marks}[0-9A-Za-z]{0,${keyLength - 1}}$`);

/** A key that expires within 30 days ends soon, and every response to it says so. */
export const endsSoonMs = 30 * 24 * 60 * 60_000;

interface NewKey {
  /** The key itself, shown once and never stored. */
  readonly key: string;
  /** The first 12 characters (17 for a sandbox key), which are safe to show. */
  readonly prefix: string;
  readonly digest: string;
}

export function createApiKey(isForSandbox = false): NewKey {
  const start = (isForSandbox ? sandboxMark : mark) + randomText(randomLength);
  const key = start + checksum(start);
  return { key, prefix: visiblePrefix(key), digest: hashApiKey(key) };
}

/** Returns the part of a whole or partial key that's safe to show. */
export function visiblePrefix(text: string): string {
  return text.slice(0, markOf(text).length + shownRandomLength);
}

export function isSandboxKey(text: string): boolean {
  return text.startsWith(sandboxMark);
}

/** Returns the minimum length of a prefix that can identify a key: 8, or 13 for a sandbox key. @param text a key or the start of one */
export function minPrefixLength(text: string): number {
  return markOf(text).length + minRandomLength;
}

function markOf(text: string): string {
  return isSandboxKey(text) ? sandboxMark : mark;
}

/**
 * Shortens every key in `text` to the part that's safe to show, including mistyped and partial keys. Paths are logged as sent, so a key may be
 * percent-encoded; if there is one, the result is decoded.
 */
export function redactKeys(text: string): string {
  const plain = text.includes("%") ? text.replace(encodedCharacter, decodeURIComponent) : text;
  return plain.search(longerThanShown) < 0 ? text : plain.replace(longerThanShown, (key) => `${visiblePrefix(key)}...`);
}

/** Whether `text` looks like the start of a key. */
export function isPartialKey(text: string): boolean {
  return partial.test(text);
}

export function isKey(key: string): boolean {
  return form.test(key) && checksum(key.slice(0, -checksumLength)) === key.slice(-checksumLength);
}

/** Returns the hexadecimal SHA-256 of a key. A fast hash is secure here because keys are random, unlike passwords. */
export function hashApiKey(key: string): string {
  return Bun.SHA256.hash(key, "hex");
}

/** CRC-32 as six base-62 digits, as other services use in their keys. */
function checksum(text: string): string {
  return toBase62(Bun.hash.crc32(text), checksumLength);
}
