// Sends a request to a receiver: a POST over a new connection, to an address that was checked for this attempt.

import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { type RequestOptions, request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { systemErrorCode } from "../lib/errors-for-log.ts";
import { ProblemError } from "../model/errors.ts";
import { maxExchangedBytes } from "../model/webhooks.ts";
import { type AddressPolicy, type ResolvedUrl, resolveAllowedUrl } from "./address-policy.ts";
import { rejectOnAbort } from "./name-resolver.ts";

export interface DeliveryResponse {
  /** Null without a response. */
  readonly status: number | null;
  /** The value of `Retry-After`, if the response has one. */
  readonly retryAfter: string | undefined;
  /** What failed, in one line that the receiver has no control over; null for a 2xx status. */
  readonly fault: string | null;
  /** Undefined without a response. */
  readonly message?: ResponseMessage | undefined;
}

/** A response as a receiver sent it. */
export interface ResponseMessage {
  /** Header names and values in turn, one character per byte. */
  readonly rawHeaders: readonly string[];
  /** Up to 8 KiB. */
  readonly body: Buffer;
  /** How many bytes of the body were read. */
  readonly bytes: number;
}

export interface Delivery {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface SendOptions extends AddressPolicy {
  /** Certificate authorities in PEM form, instead of Bun's. */
  readonly ca?: string;
  /** Milliseconds for everything: name, connection, TLS, request and response. */
  readonly timeout?: number;
}

/** Contract section 12. */
const sendTimeoutMs = 15_000;
/** Bytes we read of a response: of its header section (as for requests to us), and of its body. */
const maxHeaderSize = 16_384;
const maxBodyBytesRead = 65_536;

/**
 * Sends `delivery` once, without following redirects. Never rejects.
 * @param signal aborts the attempt. The result then has no status, unless the response had already started
 */
export async function send(delivery: Delivery, options: SendOptions, signal: AbortSignal): Promise<DeliveryResponse> {
  const timeout = options.timeout ?? sendTimeoutMs;
  const ended = AbortSignal.any([signal, AbortSignal.timeout(timeout)]);
  try {
    // The race makes sure that the attempt ends in time, even if the lookup doesn't.
    const lookup: AddressPolicy["lookup"] = (name) => options.lookup(name, ended);
    const allowed = resolveAllowedUrl(delivery.url, { ...options, lookup });
    const destination = await Promise.race([allowed, rejectOnAbort(ended)]);
    return await post(destination, delivery, { ...options, signal: ended });
  } catch (error) {
    const isLate = ended.aborted && !signal.aborted;
    return failed(isLate ? `no response within ${timeout / 1000} seconds` : describeSendError(error, signal));
  }
}

function post(
  destination: ResolvedUrl,
  { headers, body }: Delivery,
  { ca, signal }: { readonly ca?: string; readonly signal: AbortSignal },
): Promise<DeliveryResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<DeliveryResponse>();
  let response: IncomingMessage | undefined;
  const content = new ReadBody();
  // Once a response has started, its status counts, even if its body fails.
  const end = (error: unknown) => {
    request.destroy();
    if (response) resolve({ ...toReceived(response), message: content.toMessage(response) });
    else reject(error);
  };
  const request = open(destination, {
    method: "POST",
    headers: { ...headers, "content-length": String(body.length) },
    signal,
    maxHeaderSize,
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
  });
  const onResponse = (received: IncomingMessage) => {
    response = received;
    if (received.statusCode === 101) end(undefined);
    else content.read(received, () => end(undefined));
  };
  request.on("response", onResponse).on("upgrade", onResponse).on("error", end);
  request.on("close", () => end(Object.assign(new Error("closed"), { code: "ECONNRESET" })));
  request.end(body);
  return promise;
}

/** `Host`, TLS and the certificate use the hostname in the URL, but we only connect to the addresses that were checked. */
function open({ url, host, addresses }: ResolvedUrl, options: RequestOptions): ClientRequest {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_, { all: isAll }, callback) =>
    isAll ? callback(null, all) : callback(null, all[0]?.address ?? "", all[0]?.family);
  const { port, pathname, search } = url;
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  // Without an agent, there's no proxy, and connections aren't reused.
  return request({ ...options, host, port, path: pathname + search, lookup, agent: false });
}

/** Reads a body so that the receiver can finish, but only keeps its start. */
class ReadBody {
  readonly #kept: Buffer[] = [];
  #bytes = 0;

  /** @param onEnd called at the end, or when the body is too long */
  read(response: IncomingMessage, onEnd: () => void): void {
    response.on("data", (chunk: Buffer) => {
      // Copied, because a subarray would keep the whole chunk in memory.
      if (this.#bytes < maxExchangedBytes)
        this.#kept.push(Buffer.from(chunk.subarray(0, maxExchangedBytes - this.#bytes)));
      this.#bytes += chunk.length;
      if (this.#bytes > maxBodyBytesRead) onEnd();
    });
    response.on("end", onEnd).on("error", onEnd).on("close", onEnd);
  }

  toMessage({ rawHeaders }: IncomingMessage): ResponseMessage {
    return { rawHeaders, body: Buffer.concat(this.#kept), bytes: this.#bytes };
  }
}

function toReceived({ statusCode = 0, headers }: IncomingMessage): DeliveryResponse {
  const retryAfter = headers["retry-after"];
  if (statusCode >= 200 && statusCode < 300) return { status: statusCode, retryAfter, fault: null };
  const isRedirect = statusCode >= 300 && statusCode < 400;
  const fault = `the receiver responded with ${statusCode}${isRedirect ? "; redirects are not followed" : ""}`;
  return { status: statusCode, retryAfter, fault };
}

function failed(fault: string): DeliveryResponse {
  return { status: null, retryAfter: undefined, fault };
}

/** In our own words, because Bun's messages can quote what the receiver sent. */
function describeSendError(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return "the attempt was interrupted";
  if (error instanceof ProblemError) return error.message;
  const code = systemErrorCode(error) ?? "unknown";
  return faults[code] ?? describeErrorKind(code);
}

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed without a response",
  EPIPE: "the connection was closed without a response",
  ETIMEDOUT: "the connection timed out",
  EHOSTUNREACH: "there's no route to the host",
  ENETUNREACH: "there's no route to the network",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another hostname",
  CERT_HAS_EXPIRED: "the certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed",
  HPE_HEADER_OVERFLOW: `the response headers are larger than ${maxHeaderSize} bytes`,
};

function describeErrorKind(code: string): string {
  if (code.startsWith("HPE_")) return `the response isn't valid HTTP (${code})`;
  if (/CERT|SIGN|ISSUER/.test(code)) return `the certificate isn't trusted (${code})`;
  return `the request failed (${code})`;
}
