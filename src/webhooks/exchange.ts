// The request and the response of an attempt, as operators see them: cut, without secrets, and as text even if the receiver sent other bytes.

import { chunksOf } from "../lib/yielding.ts";
import { redactKeys } from "../model/api-key.ts";
import { type DeliveryExchange, type ExchangedMessage, maxExchangedBytes } from "../model/webhooks.ts";
import type { Delivery, ResponseMessage } from "./send.ts";

/** Maximum bytes of a body that is not text. They are shown as hexadecimal digits. */
const maxBinaryBytes = 512;
/** Characters of a signature that are shown. */
const shownSignatureLength = 8;
/** Header fields of a response whose values may be secrets. */
const secretFields = new Set(["set-cookie", "authorization", "proxy-authenticate", "www-authenticate"]);
/** Stands for a part that is hidden. */
const hiddenValue = "...";

/** Returns what to keep of an attempt. @param received undefined if there was no response */
export function toExchange({ url, headers, body }: Delivery, received: ResponseMessage | undefined): DeliveryExchange {
  // Enough characters for the bytes that are kept, because a body can be much longer.
  const start = Buffer.from(body.slice(0, maxExchangedBytes));
  const sent = Object.entries(headers).map(([name, value]) => [name, shownRequestValue(name, value)] as const);
  return {
    url,
    request: toMessage(sent, start, Buffer.byteLength(body)),
    response: received ? toMessage(toFields(received.rawHeaders), received.body, received.bytes) : null,
  };
}

function toMessage(fields: readonly (readonly [string, string])[], start: Buffer, bytes: number): ExchangedMessage {
  return { headers: cutFields(fields), ...toShownBody(start.subarray(0, maxExchangedBytes)), bytes };
}

function shownRequestValue(name: string, value: string): string {
  if (name !== "webhook-signature") return value;
  const shorten = (signature: string) => `${signature.slice(0, "v1,".length + shownSignatureLength)}${hiddenValue}`;
  return value.split(" ").map(shorten).join(" ");
}

/** Returns the header fields of a response: Node has names and values in turn. */
function toFields(raw: readonly string[]): (readonly [string, string])[] {
  return Array.from(chunksOf(raw, 2), ([name = "", value = ""]) => {
    return [name, secretFields.has(name.toLowerCase()) ? hiddenValue : redactKeys(value)] as const;
  });
}

/** Cuts header fields to the maximum bytes. Each of their characters is a byte. */
function cutFields(fields: readonly (readonly [string, string])[]): (readonly [string, string])[] {
  let left = maxExchangedBytes;
  const kept: (readonly [string, string])[] = [];
  for (const [name, value] of fields) {
    if (left <= name.length) break;
    const cut = value.slice(0, left - name.length);
    kept.push([name, cut.length < value.length ? `${cut}${hiddenValue}` : cut]);
    left -= name.length + cut.length;
  }
  return kept;
}

/** Returns a body as text if it is UTF-8 without control characters, otherwise its first bytes as hexadecimal digits. */
function toShownBody(start: Buffer): Pick<ExchangedMessage, "body" | "isText"> {
  try {
    // With `stream`, a character that was cut at the end is left out.
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(start, { stream: true });
    if (!controls.test(text)) return { body: redactKeys(text), isText: true };
  } catch {
    // Other bytes than UTF-8.
  }
  return { body: start.toString("hex", 0, maxBinaryBytes), isText: false };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: texts with control characters are shown as bytes
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;
