// What is logged of a request: all of them with `--access-log`, otherwise slow ones and those whose key was refused.

import type { Logger } from "pino";
import { createLogLimit, type LineWriter, type LogLimit } from "../lib/logging.ts";
import { isKey, shownOf, withoutKeys } from "../model/api-key.ts";
import type { RequestHeaders } from "../wire/request-header.ts";
import { bodyLength, type HeaderParts, joinParts, type WireResponse } from "../wire/response.ts";
import { clientAddress } from "./authenticate.ts";
import type { Exchange } from "./handler.ts";
import type { HttpDependencies } from "./server.ts";

export interface RequestLogOptions {
  /** Whether the last entry of `X-Forwarded-For` is the client's address, because a proxy adds it. */
  readonly trustProxy: boolean;
  /** Milliseconds from which on a request is slow; infinite when none is. */
  readonly slowMs: number;
}

export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #log: Logger;
  readonly #accessLog: LineWriter | undefined;
  readonly #logLimit: LogLimit;

  constructor(options: RequestLogOptions, { log, accessLog, now }: HttpDependencies) {
    this.#options = options;
    this.#log = log;
    this.#accessLog = accessLog;
    this.#logLimit = createLogLimit(now);
  }

  /** Logs a response that was made in `milliseconds`, if it is to be logged. */
  note(exchange: Exchange, response: WireResponse, milliseconds: number): void {
    const isSlow = milliseconds - exchange.waited >= this.#options.slowMs;
    if (isSlow || exchange.keyRefusal || this.#accessLog) this.#write(exchange, response, milliseconds, isSlow);
  }

  #write(exchange: Exchange, response: WireResponse, milliseconds: number, isSlow: boolean): void {
    const message = exchange.keyRefusal ? "key refused" : isSlow ? "slow request" : "request";
    const line = () => this.#toLine(exchange, response, milliseconds);
    if (this.#accessLog) {
      const common = { level: info, time: Date.now(), pid: process.pid };
      this.#accessLog.add(`${toAscii(JSON.stringify({ ...common, ...line(), msg: message }))}\n`);
      return;
    }
    const cause = exchange.keyRefusal ? `${exchange.keyRefusal} ${exchange.key?.prefix}` : exchange.route?.label;
    this.#logLimit(`${message} ${cause}`, (suppressed) => this.#log.info({ ...line(), suppressed }, message));
  }

  #toLine(exchange: Exchange, { status, body }: WireResponse, milliseconds: number) {
    const { id, site, request, target, keyRefusal } = exchange;
    return {
      request: id,
      ...traceIn(request.headers),
      site: site?.name,
      key: prefixOf(exchange),
      refused: keyRefusal,
      client: clientAddress(request, this.#options.trustProxy),
      method: withoutKeys(request.method).slice(0, maxMethod),
      path: shortened(withoutKeys(target.path)),
      status,
      bytes: request.method === "HEAD" ? 0 : bodyLength(body),
      ms: Math.round(milliseconds * 100) / 100,
    };
  }
}

/** The number of the level, as in the other lines of the log. */
const info = 30;

/** JSON text with every character outside ASCII escaped: some control a terminal, or reorder what it shows. */
function toAscii(text: string): string {
  return text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A longer method is not registered. */
const maxMethod = 40;
/** Characters of a path that are logged: at six bytes each, a line stays within `maxLineBytes` (lib/logging.ts). */
const maxPath = 500;

function shortened(path: string): string {
  return path.length > maxPath ? `${path.slice(0, maxPath)}...` : path;
}

/** The part of the key that may be shown. Undefined for what is not a key, which may be another secret. */
function prefixOf({ key, request }: Exchange): string | undefined {
  if (key) return key.prefix;
  const sent = request.headers.get("x-api-auth");
  return sent !== null && isKey(sent) ? shownOf(sent) : undefined;
}

// The IDs that a request brings along, so that its lines in the logs of several programs can be found together.

/** A request ID, the client's or ours. It is a text only where it is logged: most are just sent. */
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

/** Nothing that could end a line, a string or an element where the ID is shown, and no list of two IDs. */
const requestId = /^[\w.~+=@-]{1,128}$/;

/** The ID in `X-Request-Id`; undefined when there is none, one that is not well-formed, or one with an API key, because it would be logged. */
export function requestIdIn(headers: RequestHeaders): RequestId | undefined {
  const sent = headers.get("x-request-id");
  return sent !== null && requestId.test(sent) && withoutKeys(sent) === sent ? new RequestId([sent]) : undefined;
}

/** W3C Trace Context, section 3.2.2. Versions after 00 may have further members. */
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** The trace and the parent span in `traceparent`, as members of a log line; none when there is none, or one that is not valid. */
export function traceIn(headers: RequestHeaders): { trace?: string; span?: string } {
  const [, version, trace = "", span = "", more] = traceparent.exec(headers.get("traceparent") ?? "") ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return {};
  return isZero(trace) || isZero(span) ? {} : { trace, span };
}

function isZero(id: string): boolean {
  return /^0+$/.test(id);
}
