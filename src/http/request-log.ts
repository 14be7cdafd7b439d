// Logs slow requests and those whose key was rejected, or with `--access-log`, all of them.

import type { Logger } from "pino";
import { createLogRateLimiter, type LineWriter, type LogRateLimiter } from "../lib/logging.ts";
import { redactKeys } from "../model/api-key.ts";
import { bodyLength, type WireResponse } from "../wire/response.ts";
import { sentPrefix } from "./authorization/sent-key.ts";
import { clientAddress } from "./common/client-network.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { RequestContext } from "./request-context.ts";
import { traceIn } from "./request-ids.ts";

export interface RequestLogOptions {
  /** Whether a proxy adds the client's address to `X-Forwarded-For`, so that its last entry can be trusted. */
  readonly trustProxy: boolean;
  /** From how many milliseconds on a request is slow; infinity for never. */
  readonly slowMs: number;
}

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

  /** @param milliseconds how long the response took */
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
    const { id, site, sandbox, request, target, keyRejection, batch } = context;
    return {
      request: id,
      ...traceIn(request.headers),
      site: site?.name,
      sandbox,
      key: sentPrefix(context),
      refused: keyRejection,
      client: clientAddress(request, this.#options.trustProxy) ?? request.address,
      method: redactKeys(request.method).slice(0, maxMethodLength),
      path: shortened(redactKeys(target.path)),
      operations: batch?.operations,
      run: batch?.run ?? undefined,
      status,
      bytes: request.method === "HEAD" ? 0 : bodyLength(body),
      ms: Math.round(milliseconds * 100) / 100,
    };
  }
}

/** The log level "info", as a number like in the other lines of the log. */
const info = 30;

/** Escapes all non-ASCII characters in JSON, because some of them control a terminal or reorder its text. */
function toAscii(text: string): string {
  return text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** No registered method is longer. */
const maxMethodLength = 40;
/** A character takes up to six bytes, so a line stays within `maxLineBytes` (lib/logging.ts). */
const maxPathLength = 500;

function shortened(path: string): string {
  return path.length > maxPathLength ? `${path.slice(0, maxPathLength)}...` : path;
}
