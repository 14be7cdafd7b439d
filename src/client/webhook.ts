// Verifies webhooks (Standard Webhooks 1.0) for programs that receive them. It uses the Web Crypto API, which Node, Bun, Deno and browsers have.
// `crypto.subtle.verify` compares signatures in constant time.

import type { StorefrontChange } from "./changes.ts";
import { checkedMembers } from "./list-query.ts";
import { checkedInteger, maxDelayMs } from "./options.ts";
import { tryParseJson } from "./storefront-errors.ts";

/** The members that all events have. */
interface AnyWebhookEvent<Type extends string, Data> {
  /** The `webhook-id`: the same each time the event is sent. */
  readonly id: string;
  readonly type: Type;
  /** When the event happened, such as `2026-11-21T20:15:00.124Z`. */
  readonly timestamp: string;
  readonly data: Data;
}

/** Records have changed. */
export type WebhookChanges = AnyWebhookEvent<
  "storefront.changes",
  {
    /** The name of the site. */
    readonly Site: string;
    /** The `Next` of the previous event. If it differs, events are missing: read the lists again. */
    readonly Since: string;
    /** 1 to 100 changes, oldest first. */
    readonly Changes: readonly StorefrontChange[];
    /** The cursor after these changes. */
    readonly Next: string;
  }
>;

/** Changes can no longer be sent: read the lists again. */
export type WebhookGone = AnyWebhookEvent<
  "storefront.gone",
  { readonly Site: string; readonly Since: string; readonly Next: string }
>;

/** The operator tests the webhook. */
export type WebhookTest = AnyWebhookEvent<"storefront.test", { readonly Site: string; readonly Next: string }>;

/** A verified event. Later versions of the server can send other types: respond to them with 2xx, too. */
export type WebhookEvent = WebhookChanges | WebhookGone | WebhookTest;

/** A request with a body that was already read, such as an `IncomingMessage` of Node with its bytes. */
export interface WebhookRequest {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The bytes as they arrived, or their text. Not parsed and written again: the signature would differ. */
  readonly body: string | Uint8Array | ArrayBuffer;
}

/** Options of `verifyWebhook`. */
export interface WebhookOptions {
  /** Maximum difference between the time of the request and your clock, in milliseconds. Default: 300,000. */
  readonly tolerance?: number;
}

/** Why a request is not a genuine, recent webhook. */
export type WebhookErrorReason =
  /** A header field is missing, or no signature matches a secret. Status 401. */
  | "signature"
  /** The request is older or newer than the tolerance. Status 401. */
  | "timestamp"
  /** The body has more than 5,000,000 bytes. Status 413. */
  | "too-large"
  /** The signature is right, but the body is not an event. Status 400. */
  | "unreadable";

const statuses: Readonly<Record<WebhookErrorReason, number>> = {
  signature: 401,
  timestamp: 401,
  "too-large": 413,
  unreadable: 400,
};

/** Thrown for a request that is not a genuine, recent webhook. Respond with `status`, and do nothing else. */
export class StorefrontWebhookError extends Error {
  override readonly name = "StorefrontWebhookError";
  readonly reason: WebhookErrorReason;
  /** The status of your response. */
  readonly status: number;

  constructor(reason: WebhookErrorReason, message: string) {
    super(message);
    this.reason = reason;
    this.status = statuses[reason];
  }
}

const maxBodyBytes = 5_000_000;
/** Maximum number of signatures that are compared. The server sends at most two. */
const maxSignatures = 16;

/**
 * Verifies the signature and the time of a webhook, and returns its event.
 * @param secrets the secret of the webhook, or several: a request is genuine if one of them matches
 * @throws StorefrontWebhookError if the request is not genuine or not recent, and a TypeError for secrets or options of another form
 */
export async function verifyWebhook(
  request: Request | WebhookRequest,
  secrets: string | readonly string[],
  options: WebhookOptions = {},
): Promise<WebhookEvent> {
  checkedMembers(options, ["tolerance"]);
  const tolerance = checkedInteger("tolerance", options.tolerance ?? 300_000, 0, maxDelayMs);
  const keys = await importKeys([secrets].flat());
  const [id = "", time = "", signatures = ""] = ["id", "timestamp", "signature"].map((name) =>
    headerOf(request, `webhook-${name}`),
  );
  // Compare the time first, because it costs less than the signature.
  const isRecent = /^\d{1,15}$/.test(time) && Math.abs(Date.now() - Number(time) * 1000) <= tolerance;
  if (!isRecent)
    throw new StorefrontWebhookError("timestamp", `\`webhook-timestamp\` is not within ${tolerance} ms of this clock`);
  const body = await readBody(request);
  const content = concatenated(new TextEncoder().encode(`${id}.${time}.`), body);
  if (!(await isSigned(content, signatures, keys))) {
    throw new StorefrontWebhookError("signature", "no signature in `webhook-signature` matches a secret");
  }
  return parseEvent(id, body);
}

async function importKeys(secrets: readonly unknown[]): Promise<CryptoKey[]> {
  if (!globalThis.crypto?.subtle) throw new TypeError("the Web Crypto API is missing; a page needs `https` for it");
  const keys = secrets.map(toKeyBytes);
  if (keys.length === 0) throw new TypeError("`secrets` must have at least one secret");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return Promise.all(keys.map((key) => crypto.subtle.importKey("raw", key, algorithm, false, ["verify"])));
}

/** Decodes a secret. @throws TypeError for another form; the message does not contain the secret */
function toKeyBytes(secret: unknown): Uint8Array<ArrayBuffer> {
  const [, text = ""] = /^\s*whsec_(\S+)\s*$/.exec(String(secret)) ?? [];
  const key = decodeBase64(text);
  if (!key?.length) throw new TypeError("a secret of a webhook must be a text of `whsec_` and base64");
  return key;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Returns a header field. Names in plain objects may have any case; of several values, returns the first. */
function headerOf({ headers }: Request | WebhookRequest, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === "string" ? value : value?.[0];
}

/** Checks a method, because libraries have their own class `Headers`. */
function isHeaders(headers: WebhookRequest["headers"]): headers is Headers {
  return typeof headers.get === "function";
}

/** @throws StorefrontWebhookError `too-large` before more than the maximum was read */
async function readBody(request: Request | WebhookRequest): Promise<Uint8Array<ArrayBuffer>> {
  if ("arrayBuffer" in request) return readStream(request);
  const bytes = toBytes(request.body);
  if (bytes.length > maxBodyBytes) throw tooLargeError();
  return bytes;
}

/** @throws TypeError for another value, such as a body that a framework has parsed */
function toBytes(body: unknown): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError("`body` must be the bytes as they arrived, or their text; a parsed body cannot be verified");
}

async function readStream(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get("Content-Length")) > maxBodyBytes) throw tooLargeError();
  // Firefox does not have the stream of a request.
  if (!request.body) return new Uint8Array(await request.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > maxBodyBytes) {
      await reader.cancel();
      throw tooLargeError();
    }
    chunks.push(part.value);
  }
  return concatenated(...chunks);
}

function tooLargeError(): StorefrontWebhookError {
  return new StorefrontWebhookError("too-large", `the body has more than ${maxBodyBytes} bytes`);
}

function concatenated(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}

/** Whether a signature of version 1 matches a key. @param signatures such as `v1,<base64> v1,<base64>` */
async function isSigned(
  content: Uint8Array<ArrayBuffer>,
  signatures: string,
  keys: readonly CryptoKey[],
): Promise<boolean> {
  const given = signatures.split(" ").filter((signature) => signature.startsWith("v1,"));
  const decoded = given.slice(0, maxSignatures).map((signature) => decodeBase64(signature.slice(3)));
  const matches = decoded.flatMap((bytes) =>
    bytes ? keys.map((key) => crypto.subtle.verify("HMAC", key, bytes, content)) : [],
  );
  return (await Promise.all(matches)).includes(true);
}

function parseEvent(id: string, body: Uint8Array): WebhookEvent {
  const event = tryParseJson(new TextDecoder().decode(body)) as Partial<WebhookEvent> | null | undefined;
  if (typeof event?.type === "string" && typeof event.data === "object" && event.data !== null) {
    return { ...event, id } as WebhookEvent;
  }
  throw new StorefrontWebhookError("unreadable", "the body is not an event");
}
