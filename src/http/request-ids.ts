// Reads the IDs clients send with a request so that its log lines in several programs can be found together.

import { redactKeys } from "../model/api-key.ts";
import type { HeaderFields } from "../wire/header-fields.ts";
import { type HeaderParts, joinParts } from "../wire/response.ts";

/** A request ID, from the client or from us. Most are only sent, so the parts are joined only for the log. */
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

/** Only characters that are safe in log lines, JSON strings and XML. No comma, so two IDs aren't mistaken for one. */
const requestId = /^[\w.~+=@-]{1,128}$/;

/** Returns the ID in `X-Request-Id`; undefined if it's absent or malformed, or contains an API key, which mustn't be logged. */
export function requestIdIn(headers: HeaderFields): RequestId | undefined {
  const sent = headers.get("x-request-id");
  return sent !== null && requestId.test(sent) && redactKeys(sent) === sent ? new RequestId([sent]) : undefined;
}

/** `traceparent` as in W3C Trace Context, section 3.2.2. Versions after 00 may have more members. */
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** Returns the trace and the parent span in `traceparent`, as members of a log line; an empty object if it's absent or invalid. */
export function traceIn(headers: HeaderFields): { trace?: string; span?: string } {
  const [, version, trace = "", span = "", more] = traceparent.exec(headers.get("traceparent") ?? "") ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return {};
  return isZero(trace) || isZero(span) ? {} : { trace, span };
}

function isZero(id: string): boolean {
  return /^0+$/.test(id);
}
