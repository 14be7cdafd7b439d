import { Refusal } from "../model/errors.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The text of `bytes`, without a byte order mark. @throws Refusal `bad-request` when they are not UTF-8 */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new Refusal("bad-request", "the body is not valid UTF-8");
  }
}
