// Verifies webhooks (Standard Webhooks 1.0) in the programs that receive them. It only needs the Web Crypto API, which Node, Bun, Deno and browsers
// have; `crypto.subtle.verify` compares signatures in constant time.

import type { StorefrontChange } from "./changes.ts";
import { checkMembers } from "./list-query.ts";
import { checkInteger, maxDelayMs } from "./options.ts";
import { StorefrontError, tryParseJson } from "./storefront-errors.ts";

interface AnyWebhookEvent<Type extends string, Data> {
  /** The `webhook-id` header. It stays the same when an event is resent. */
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
    /** The `Next` of the previous event. If it isn't, you've missed events: read the lists again. */
    readonly Since: string;
    /** 1 to 100 changes, oldest first. */
    readonly Changes: readonly StorefrontChange[];
    /** The cursor after these changes. */
    readonly Next: string;
  }
>;

/** Some changes can no longer be sent: read the lists again. */
export type WebhookGone = AnyWebhookEvent<
  "storefront.gone",
  { readonly Site: string; readonly Since: string; readonly Next: string }
>;

/** Someone sent a test. */
export type WebhookTest = AnyWebhookEvent<"storefront.test", { readonly Site: string; readonly Next: string }>;

/** A verified event. Newer servers may send other types: respond to those with 2xx too. */
export type WebhookEvent = WebhookChanges | WebhookGone | WebhookTest;

/** A request whose body you've already read, such as Node's `IncomingMessage` along with its bytes. */
export interface WebhookRequest {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body exactly as it arrived, as bytes or text. Parsing and re-serializing it would break the signature. */
  readonly body: string | Uint8Array | ArrayBuffer;
}

/** Options of `verifyWebhook`. */
export interface WebhookOptions {
  /** How far the request's timestamp may be from your clock, in milliseconds. Default: 300,000. */
  readonly tolerance?: number;
}

/** Why a request isn't a genuine, recent webhook. */
export type WebhookErrorReason =
  /** A header is missing, or no signature matches a secret. Status 401. */
  | "signature"
  /** The timestamp is further from your clock than the tolerance allows. Status 401. */
  | "timestamp"
  /** The body has more than 5,000,000 bytes. Status 413. */
  | "too-large"
  /** The signature is valid, but the body isn't an event. Status 400. */
  | "unreadable";

const statuses: Readonly<Record<WebhookErrorReason, number>> = {
  signature: 401,
  timestamp: 401,
  "too-large": 413,
  unreadable: 400,
};

/** Thrown if a request isn't a genuine, recent webhook. Respond with `status`, and ignore the request. */
export class StorefrontWebhookError extends StorefrontError {
  override readonly name = "StorefrontWebhookError";
  readonly reason: WebhookErrorReason;
  /** The status to respond with. */
  readonly status: number;

  constructor(reason: WebhookErrorReason, message: string) {
    super(message);
    this.reason = reason;
    this.status = statuses[reason];
  }
}

const maxBodyBytes = 5_000_000;
/** We check at most this many signatures. The server sends at most two. */
const maxSignatures = 16;

/**
 * Verifies a webhook's signature and timestamp, and returns its event.
 * @param secrets the webhook's secret, or several while you rotate it: one of them has to match
 * @throws StorefrontWebhookError if the request isn't genuine or recent; TypeError for malformed secrets or options
 * @example const event = await verifyWebhook(request, secret);
 */
export async function verifyWebhook(
  request: Request | WebhookRequest,
  secrets: string | readonly string[],
  options: WebhookOptions = {},
): Promise<WebhookEvent> {
  checkMembers(options, ["tolerance"]);
  const tolerance = checkInteger("tolerance", options.tolerance ?? 300_000, 0, maxDelayMs);
  const keys = await importKeys([secrets].flat());
  const [id = "", time = "", signatures = ""] = ["id", "timestamp", "signature"].map((name) =>
    headerOf(request, `webhook-${name}`),
  );
  // Check the time first: it costs less than the signature.
  const isRecent = /^\d{1,15}$/.test(time) && Math.abs(Date.now() - Number(time) * 1000) <= tolerance;
  if (!isRecent)
    throw new StorefrontWebhookError("timestamp", `\`webhook-timestamp\` is more than ${tolerance} ms from this clock`);
  const body = await readBody(request);
  const content = concat(new TextEncoder().encode(`${id}.${time}.`), body);
  if (!(await isSigned(content, signatures, keys))) {
    throw new StorefrontWebhookError("signature", "no signature in `webhook-signature` matches a secret");
  }
  return parseEvent(id, body);
}

async function importKeys(secrets: readonly unknown[]): Promise<CryptoKey[]> {
  if (!globalThis.crypto?.subtle)
    throw new TypeError("the Web Crypto API isn't available; web pages need https to use it");
  const keys = secrets.map(toKeyBytes);
  if (keys.length === 0) throw new TypeError("pass at least one secret");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return Promise.all(keys.map((key) => crypto.subtle.importKey("raw", key, algorithm, false, ["verify"])));
}

/** @throws TypeError for a malformed secret, without repeating it in the message */
function toKeyBytes(secret: unknown): Uint8Array<ArrayBuffer> {
  const [, text = ""] = /^\s*whsec_(\S+)\s*$/.exec(String(secret)) ?? [];
  const key = decodeBase64(text);
  if (!key?.length) throw new TypeError("a webhook secret must be `whsec_` followed by base64");
  return key;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Header names in plain objects can have any case. If there are several values, returns the first. */
function headerOf({ headers }: Request | WebhookRequest, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === "string" ? value : value?.[0];
}

/** Looks for a method instead of using `instanceof`, because libraries bring their own `Headers` class. */
function isHeaders(headers: WebhookRequest["headers"]): headers is Headers {
  return typeof headers.get === "function";
}

/** @throws StorefrontWebhookError `too-large`, before it has read more than the maximum */
async function readBody(request: Request | WebhookRequest): Promise<Uint8Array<ArrayBuffer>> {
  if ("arrayBuffer" in request) return readStream(request);
  const bytes = toBytes(request.body);
  if (bytes.length > maxBodyBytes) throw tooLargeError();
  return bytes;
}

/** @throws TypeError for anything else, such as a body that a framework has already parsed */
function toBytes(body: unknown): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError("`body` must be the bytes or text exactly as they arrived; a parsed body can't be verified");
}

async function readStream(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get("Content-Length")) > maxBodyBytes) throw tooLargeError();
  // Firefox has no `Request.body`.
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
  return concat(...chunks);
}

function tooLargeError(): StorefrontWebhookError {
  return new StorefrontWebhookError("too-large", `the body is larger than ${maxBodyBytes} bytes`);
}

function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}

/** Whether a version 1 signature matches a key. @param signatures such as `v1,<base64> v1,<base64>` */
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
  throw new StorefrontWebhookError("unreadable", "the body isn't an event");
}
