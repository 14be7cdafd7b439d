// Parses the body of a message: any JSON value, whose form protocol.ts checks.

import { endOfString } from "../../formats/json-items.ts";
import { fromUtf8 } from "../../formats/text-encoding.ts";
import type { BodyBytes } from "../../wire/request-body.ts";
import { RpcError } from "./protocol.ts";

/** Maximum nesting of objects and lists. A batch operation takes eight levels, and clients may add more in `_meta`. */
const maxDepth = 64;

/** Parses a body. @throws RpcError `parseError` if it is not JSON, or nested too deeply */
export function parseMessageBody(body: BodyBytes): unknown {
  try {
    const text = fromUtf8(body.view);
    // The parser takes a third of a second for 1 MiB of brackets.
    if (isNestedDeeper(text, maxDepth)) throw new Error(`it is nested more than ${maxDepth} levels deep`);
    return JSON.parse(text);
  } catch (error) {
    throw new RpcError("parseError", `the body is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

const [quote, openBrace, closeBrace, openBracket, closeBracket] = [0x22, 0x7b, 0x7d, 0x5b, 0x5d];

/** Whether a JSON text is nested deeper than `max` levels. Takes one pass. If the text is malformed, the result may be wrong. */
function isNestedDeeper(text: string, max: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at + 1);
      if (at === -1) return false;
    } else if (code === openBrace || code === openBracket) {
      if (++depth > max) return true;
    } else if (code === closeBrace || code === closeBracket) depth--;
  }
  return false;
}
