// API keys: `sfk_`, 36 random letters and digits (214 bits), and a checksum of six. The checksum lets secret scanners
// and a client's author tell a key with a typing error from a revoked one without asking the server.

import { randomText, toBase62 } from "../lib/base62.ts";

const mark = "sfk_";
const randomLength = 36;
const checksumLength = 6;
const shownLength = mark.length + 8;
const form = new RegExp(`^${mark}[0-9A-Za-z]{${randomLength + checksumLength}}$`);
const beginning = new RegExp(`^${mark}[0-9A-Za-z]{0,${randomLength + checksumLength - 1}}$`);

/** What a key may do; `write` includes reading. */
export const scopes = ["read", "write"] as const;
export type Scope = (typeof scopes)[number];

interface NewKey {
  /** The key itself; shown once and kept nowhere. */
  readonly key: string;
  /** The first twelve characters, which may be shown: they leave 166 random bits unknown. */
  readonly prefix: string;
  readonly digest: string;
}

/** Makes a key from the system's cryptographic randomness. */
export function makeKey(): NewKey {
  const start = mark + randomText(randomLength);
  const key = start + checksum(start);
  return { key, prefix: shownOf(key), digest: digestOf(key) };
}

/** The part of a key, or of a beginning of one, that may be shown. */
export function shownOf(text: string): string {
  return text.slice(0, shownLength);
}

/** Whether `text` has the form of a key's beginning, shorter than the whole key. */
export function isBeginning(text: string): boolean {
  return beginning.test(text);
}

/** Whether `key` has the form of a key and its checksum is right: no typing error. */
export function isKey(key: string): boolean {
  return form.test(key) && checksum(key.slice(0, -checksumLength)) === key.slice(-checksumLength);
}

/** SHA-256 of the key, in hexadecimal. A slow hash would add nothing: a key is random, not a person's password. */
export function digestOf(key: string): string {
  return Bun.SHA256.hash(key, "hex");
}

/** CRC-32 as six digits of base 62, as other services' keys have it. */
function checksum(text: string): string {
  return toBase62(Bun.hash.crc32(text), checksumLength);
}
