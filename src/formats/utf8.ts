import { Refusal } from "../model/errors.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8, and removes a byte order mark. @throws Refusal `bad-request` if the bytes are not valid UTF-8 */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new Refusal("bad-request", "the body is not valid UTF-8");
  }
}
