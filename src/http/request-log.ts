// Logs requests: all of them with `--access-log`, otherwise only slow requests and requests with a rejected key. Also reads the IDs that connect the
// log lines of a request.

import type { Logger } from "pino";
import { createLogRateLimiter, type LineWriter, type LogRateLimiter } from "../lib/logging.ts";
import { isKey, redactKeys, visiblePrefix } from "../model/api-key.ts";
import type { RequestHeaders } from "../wire/request-header.ts";
import { bodyLength, type HeaderParts, joinParts, type WireResponse } from "../wire/response.ts";
import { clientAddress } from "./authenticate.ts";
import type { RequestContext } from "./handler.ts";
import type { HttpDependencies } from "./server.ts";

export interface RequestLogOptions {
  /** Whether the last entry of `X-Forwarded-For` is the client's address, because a proxy adds it. */
  readonly trustProxy: boolean;
  /** Minimum milliseconds of a slow request; infinity to log no request as slow. */
  readonly slowMs: number;
}

/** The log of requests. */
export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #log: Logger;
  readonly #accessLog: LineWriter | undefined;
  readonly #logLimit: LogRateLimiter;

  constructor(options: RequestLogOptions, { log, accessLog, now }: HttpDependencies) {
    this.#options = options;
    this.#log = log;
    this.#accessLog = accessLog;
    this.#logLimit = createLogRateLimiter(now);
  }

  /** Logs a response, if it is slow, its key was rejected, or all requests are logged. @param milliseconds the time that it took to make */
  logResponse(context: RequestContext, response: WireResponse, milliseconds: number): void {
    const isSlow = milliseconds - context.longPollMs >= this.#options.slowMs;
    if (isSlow || context.keyRejection || this.#accessLog) this.#write(context, response, milliseconds, isSlow);
  }

  #write(context: RequestContext, response: WireResponse, milliseconds: number, isSlow: boolean): void {
    const message = context.keyRejection ? "key refused" : isSlow ? "slow request" : "request";
    const line = () => this.#toLine(context, response, milliseconds);
    if (this.#accessLog) {
      const common = { level: info, time: Date.now(), pid: process.pid };
      this.#accessLog.add(`${toAscii(JSON.stringify({ ...common, ...line(), msg: message }))}\n`);
      return;
    }
    const cause = context.keyRejection ? `${context.keyRejection} ${context.key?.prefix}` : context.route?.label;
    this.#logLimit(`${message} ${cause}`, (suppressed) => this.#log.info({ ...line(), suppressed }, message));
  }

  #toLine(context: RequestContext, { status, body }: WireResponse, milliseconds: number) {
    const { id, site, request, target, keyRejection } = context;
    return {
      request: id,
      ...traceIn(request.headers),
      site: site?.name,
      key: prefixOf(context),
      refused: keyRejection,
      client: clientAddress(request, this.#options.trustProxy),
      method: redactKeys(request.method).slice(0, maxMethod),
      path: shortened(redactKeys(target.path)),
      status,
      bytes: request.method === "HEAD" ? 0 : bodyLength(body),
      ms: Math.round(milliseconds * 100) / 100,
    };
  }
}

/** The number of the log level "info", as in the other lines of the log. */
const info = 30;

/** Escapes all characters outside ASCII in a JSON text, because some of them control a terminal or reorder its text. */
function toAscii(text: string): string {
  return text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Maximum characters of a method that are logged. A longer method is not registered. */
const maxMethod = 40;
/** Maximum characters of a path that are logged. Each takes up to six bytes, so a line stays within `maxLineBytes` (lib/logging.ts). */
const maxPath = 500;

function shortened(path: string): string {
  return path.length > maxPath ? `${path.slice(0, maxPath)}...` : path;
}

/** Returns the visible prefix of the request's key; undefined if the header does not contain a key, because it may be another secret. */
function prefixOf({ key, request }: RequestContext): string | undefined {
  if (key) return key.prefix;
  const sent = request.headers.get("x-api-auth");
  return sent !== null && isKey(sent) ? visiblePrefix(sent) : undefined;
}

// The IDs that a client sends with a request, so that the log lines of several programs about it can be found together.

/** A request ID, from the client or from this server. Its parts are joined to a text only to log it, because most IDs are only sent. */
export class RequestId {
  readonly parts: HeaderParts;

  constructor(parts: HeaderParts) {
    this.parts = parts;
  }

  toString(): string {
    return joinParts(this.parts);
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Only characters that are safe in log lines, JSON strings and XML. No comma, so that two IDs are not taken for one. */
const requestId = /^[\w.~+=@-]{1,128}$/;

/** Returns the ID in `X-Request-Id`; undefined if it is absent or malformed, or contains an API key, which must not be logged. */
export function requestIdIn(headers: RequestHeaders): RequestId | undefined {
  const sent = headers.get("x-request-id");
  return sent !== null && requestId.test(sent) && redactKeys(sent) === sent ? new RequestId([sent]) : undefined;
}

/** The header field `traceparent` of W3C Trace Context, section 3.2.2. Versions after 00 may have further members. */
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** Returns the trace and the parent span in `traceparent`, as members of a log line; an empty object if the field is absent or invalid. */
export function traceIn(headers: RequestHeaders): { trace?: string; span?: string } {
  const [, version, trace = "", span = "", more] = traceparent.exec(headers.get("traceparent") ?? "") ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return {};
  return isZero(trace) || isZero(span) ? {} : { trace, span };
}

function isZero(id: string): boolean {
  return /^0+$/.test(id);
}
