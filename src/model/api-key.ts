// API keys: a mark, 36 random letters and digits (214 bits), and a checksum of six letters and digits. The mark is `sfk_`, and `sfk_test_` for a key of
// a sandbox, so that people and programs recognize it. Other keys never have the underscore after `test`, so no key has both forms. The checksum
// lets secret scanners and clients recognize a mistyped key without a request.

import { randomText, toBase62 } from "../lib/text.ts";

const mark = "sfk_";
const sandboxMark = "sfk_test_";
const randomLength = 36;
const checksumLength = 6;
/** Letters and digits of a key after its mark. */
export const keyLength = randomLength + checksumLength;
/** Random characters that may be shown, because 166 random bits remain secret. */
const shownRandomLength = 8;
/** Minimum number of random characters in a prefix that names a key. With fewer, it would be too easy to revoke the wrong key. */
const minRandomLength = 4;
const marks = "sfk_(?:test_)?";
const form = new RegExp(`^${marks}[0-9A-Za-z]{${keyLength}}$`);
const longerThanShown = new RegExp(`${marks}[0-9A-Za-z]{${shownRandomLength + 1},}`, "g");
/** A letter, a digit or an underscore that is percent-encoded. */
const encodedCharacter = /%(?:3\d|[46][1-9a-f]|[57][\da]|5f)/gi;
const beginning = new RegExp(`^${marks}[0-9A-Za-z]{0,${keyLength - 1}}$`);

/** The rights of a key. `write` includes `read`. */
export const scopes = ["read", "write"] as const;
export type Scope = (typeof scopes)[number];

interface NewKey {
  /** The key itself. It is shown once and not stored. */
  readonly key: string;
  /** The first twelve characters, of a sandbox key 17. They may be shown. */
  readonly prefix: string;
  readonly digest: string;
}

/** Creates a key of a live site or of a sandbox with the cryptographic random generator. */
export function createApiKey(isForSandbox = false): NewKey {
  const start = (isForSandbox ? sandboxMark : mark) + randomText(randomLength);
  const key = start + checksum(start);
  return { key, prefix: visiblePrefix(key), digest: hashApiKey(key) };
}

/** Returns the part of a whole or partial key that may be shown. */
export function visiblePrefix(text: string): string {
  return text.slice(0, markOf(text).length + shownRandomLength);
}

/** Whether `text` begins as a key of a sandbox. */
export function isSandboxKey(text: string): boolean {
  return text.startsWith(sandboxMark);
}

/** Returns the minimum length of a prefix that names a key: 8, of a sandbox key 13. @param text the key or a beginning of it */
export function minPrefixLength(text: string): number {
  return markOf(text).length + minRandomLength;
}

function markOf(text: string): string {
  return isSandboxKey(text) ? sandboxMark : mark;
}

/**
 * Returns `text` with each key in it, also a mistyped or partial key, shortened to the part that may be shown. Paths are logged as they were sent, so
 * characters of a key may be percent-encoded: such a text is decoded.
 */
export function redactKeys(text: string): string {
  const plain = text.includes("%") ? text.replace(encodedCharacter, decodeURIComponent) : text;
  return plain.search(longerThanShown) < 0 ? text : plain.replace(longerThanShown, (key) => `${visiblePrefix(key)}...`);
}

/** Whether `text` has the form of a key that was cut off at the end. */
export function isPartialKey(text: string): boolean {
  return beginning.test(text);
}

/** Whether `key` has the form of a key and the right checksum. */
export function isKey(key: string): boolean {
  return form.test(key) && checksum(key.slice(0, -checksumLength)) === key.slice(-checksumLength);
}

/** Returns the SHA-256 of a key in hexadecimal. Unlike a password, a key is random, so a fast hash is secure. */
export function hashApiKey(key: string): string {
  return Bun.SHA256.hash(key, "hex");
}

/** Returns the CRC-32 as six digits in base 62, as in the keys of other services. */
function checksum(text: string): string {
  return toBase62(Bun.hash.crc32(text), checksumLength);
}
