// What is logged of a request: all of them with `--access-log`, otherwise slow ones and those whose key was refused.

import type { Logger } from "pino";
import type { LineWriter } from "../lib/line-writer.ts";
import { createLogLimit, type LogLimit } from "../lib/log-limit.ts";
import { isKey, shownOf, withoutKeys } from "../model/key.ts";
import type { WireResponse } from "../wire/response.ts";
import { bodyLength } from "../wire/response-body.ts";
import { clientAddress } from "./client-network.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { Exchange } from "./exchange.ts";
import { traceIn } from "./request-ids.ts";

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
/** Characters of a path that are logged: at six bytes each, a line stays within `maxLineBytes` (lib/line-writer.ts). */
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
