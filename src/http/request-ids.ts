// The IDs that a request brings along, so that its lines in the logs of several programs can be found together.

import { withoutKeys } from "../model/key.ts";
import { type HeaderParts, joinParts } from "../wire/header-parts.ts";
import type { RequestHeaders } from "../wire/request-headers.ts";

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
