// What a connection is doing. It handles one request at a time, in the order in which they arrive (RFC 9112 section 9.3.2):
//
//     idle -> readingHeader -> handling -> responding -> idle, or readingHeader if more has arrived already
//
// The last response, or none, leads from any of these to
//
//     sendingLast -> lingering -> closed
//
// and a connection that is cut off is closed in any state. `closed` is final.

import type { RequestBody } from "./request-body.ts";
import type { RequestHeader } from "./request-header.ts";

/** `since` is in seconds of the listener's clock; in the states of a request, it is when that began to arrive. */
export type ConnectionState = Idle | ReadingHeader | Handling | Responding | SendingLast | Lingering | Closed;

/** Nothing of a next request has arrived, but for an empty line before it. */
interface Idle {
  readonly kind: "idle";
}

/** The first `examined` bytes of the input do not contain a whole header section. */
interface ReadingHeader {
  readonly kind: "readingHeader";
  readonly since: number;
  readonly examined: number;
}

/** The handler has the request. Its body, if there is one, may still arrive. */
export interface Handling {
  readonly kind: "handling";
  readonly since: number;
  readonly header: RequestHeader;
  readonly body: RequestBody | undefined;
}

/** The output has the response. Not all of it is sent, or not all of the request's body has been read, which is dropped. */
export interface Responding {
  readonly kind: "responding";
  readonly since: number;
  readonly body: RequestBody | undefined;
}

/** The output has the last response, if there is one. What the client still sends is dropped. */
interface SendingLast {
  readonly kind: "sendingLast";
}

/**
 * All is sent and the server's side of the connection is closed. What the client sends until it closes its own is read and dropped:
 * otherwise a reset could destroy the last response before the client has read it (RFC 9112 section 9.6).
 */
interface Lingering {
  readonly kind: "lingering";
  readonly since: number;
}

interface Closed {
  readonly kind: "closed";
}

export const idle: ConnectionState = { kind: "idle" };
export const sendingLast: ConnectionState = { kind: "sendingLast" };
export const closed: ConnectionState = { kind: "closed" };

/** The body of the request that is under way, if it has one. */
export function bodyOf(state: ConnectionState): RequestBody | undefined {
  return state.kind === "handling" || state.kind === "responding" ? state.body : undefined;
}

/** Whether reading can go on with `available` bytes of input. Half a header section is read again only when more of it has arrived. */
export function canRead(state: ConnectionState, available: number): boolean {
  if (state.kind === "readingHeader") return available > state.examined;
  return bodyOf(state)?.isComplete === false;
}

/** Whether the handler works on a request, and does not wait for its body. */
export function isWithHandler(state: ConnectionState): boolean {
  return state.kind === "handling" && !state.body?.isAwaited;
}

/** Whether everything that the client still sends is dropped. */
export function isEnding({ kind }: ConnectionState): boolean {
  return kind === "sendingLast" || kind === "lingering" || kind === "closed";
}

/** How many idle timeouts a request with a body may take to arrive, and a client to close its side. */
const maxTimeouts = 30;

/**
 * When the client must have done its part, however many bytes it sends until then (RFC 9112 section 9.5); in seconds of the listener's
 * clock.
 */
export function deadlineOf(state: ConnectionState, idleTimeout: number): number {
  switch (state.kind) {
    case "readingHeader":
      return state.since + idleTimeout;
    case "handling":
    case "responding":
    case "lingering":
      return state.since + maxTimeouts * idleTimeout;
    default:
      return Number.POSITIVE_INFINITY;
  }
}
