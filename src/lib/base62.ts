const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** `length` random letters and digits, each of 62 equally likely, from the system's cryptographic randomness. */
export function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      // 248 is the largest multiple of 62 in a byte: more would make some characters likelier than others.
      if (byte < 248 && text.length < length) text += alphabet[byte % 62];
    }
  }
  return text;
}

/** The last `length` digits in base 62 of `value`, a whole number from 0. */
export function toBase62(value: number, length: number): string {
  let rest = value;
  let digits = "";
  for (let i = 0; i < length; i++) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
