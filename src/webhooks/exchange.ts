// Prepares an attempt's request and response for operators to see: shortened, without secrets, and as text even if the receiver sent something else.

import { chunksOf } from "../lib/yielding.ts";
import { redactKeys } from "../model/api-key.ts";
import { type DeliveryExchange, type ExchangedMessage, maxExchangedBytes } from "../model/webhooks.ts";
import type { Delivery, ResponseMessage } from "./send.ts";

/** Bytes shown of a body that isn't text, as hexadecimal digits. */
const maxBinaryBytes = 512;
/** Characters shown of a signature. */
const shownSignatureLength = 8;
/** Response headers whose values may be secrets. */
const secretFields = new Set(["set-cookie", "authorization", "proxy-authenticate", "www-authenticate"]);
/** Replaces what's hidden. */
const hiddenValue = "...";

/** @param received undefined if there was no response */
export function toExchange({ url, headers, body }: Delivery, received: ResponseMessage | undefined): DeliveryExchange {
  const sent = Object.entries(headers).map(([name, value]) => [name, shownRequestValue(name, value)] as const);
  return {
    url,
    request: toMessage(sent, body, body.length),
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

/** @param raw names and values in turn */
function toFields(raw: readonly string[]): (readonly [string, string])[] {
  return Array.from(chunksOf(raw, 2), ([name = "", value = ""]) => {
    return [name, secretFields.has(name.toLowerCase()) ? hiddenValue : redactKeys(value)] as const;
  });
}

/** Cuts headers to `maxExchangedBytes`. Each character is a byte. */
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

/** As text if it's UTF-8 without control characters, otherwise its first bytes as hexadecimal digits. */
function toShownBody(start: Buffer): Pick<ExchangedMessage, "body" | "isText"> {
  try {
    // `stream` leaves out a character that was cut off at the end.
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(start, { stream: true });
    if (!controls.test(text)) return { body: redactKeys(text), isText: true };
  } catch {
    // Not UTF-8.
  }
  return { body: start.toString("hex", 0, maxBinaryBytes), isText: false };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: text with control characters is shown as bytes
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;
