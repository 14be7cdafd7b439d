// The states of a connection. It handles one request at a time, in the order of arrival (RFC 9112 section 9.3.2).
//
//     each request:        idle -> readingHeader -> handling -> responding -> idle (or readingHeader, if the next request has begun to arrive)
//     the last response:   any of these -> sendingLast -> lingering -> closed
//     a cut-off:           any state -> closed
//
// The last response can be missing, for example if the client closes its side while the connection is idle. The state `closed` is final.

import type { RequestBody } from "./request-body.ts";
import type { RequestHeader } from "./request-header.ts";

/**
 * The state of a connection. `startedAtSeconds` is in seconds of the listener's clock: in `lingering`, when that state began; in the other states, when the
 * request began to arrive.
 */
export type ConnectionState = Idle | ReadingHeader | Handling | Responding | SendingLast | Lingering | Closed;

/** The connection waits for a request. At most an empty line before it has arrived. */
interface Idle {
  readonly kind: "idle";
}

/** A request has begun to arrive. The first `examinedBytes` bytes of the input do not contain its whole header section. */
interface ReadingHeader {
  readonly kind: "readingHeader";
  readonly startedAtSeconds: number;
  readonly examinedBytes: number;
}

/** The handler has the request. The request's body, if there is one, may still be arriving. */
export interface Handling {
  readonly kind: "handling";
  readonly startedAtSeconds: number;
  readonly header: RequestHeader;
  readonly body: RequestBody | undefined;
}

/** The output has the response, but part of the response is unsent, or part of the request's body has not arrived and will be discarded. */
export interface Responding {
  readonly kind: "responding";
  readonly startedAtSeconds: number;
  readonly body: RequestBody | undefined;
}

/** The output has the last response, if there is one. Further input is discarded. */
interface SendingLast {
  readonly kind: "sendingLast";
}

/**
 * Everything is sent, and the server has closed its side of the connection. Until the client closes its side, input is read and discarded.
 * Otherwise a reset could destroy the last response before the client has read it (RFC 9112 section 9.6).
 */
interface Lingering {
  readonly kind: "lingering";
  readonly startedAtSeconds: number;
}

interface Closed {
  readonly kind: "closed";
}

export const idle: ConnectionState = { kind: "idle" };
export const sendingLast: ConnectionState = { kind: "sendingLast" };
export const closed: ConnectionState = { kind: "closed" };

/** Returns the body of the current request; undefined without a request, and if the request has no body. */
export function bodyOf(state: ConnectionState): RequestBody | undefined {
  return state.kind === "handling" || state.kind === "responding" ? state.body : undefined;
}

/** Whether `available` bytes of input can be read now. An incomplete header section is read again only when more of it has arrived. */
export function canRead(state: ConnectionState, available: number): boolean {
  if (state.kind === "readingHeader") return available > state.examinedBytes;
  return bodyOf(state)?.canReceive === true;
}

/** Whether the handler has a request and the server does not wait for the client to send more of its body; also while the body is undecided. */
export function isHandlerRunning(state: ConnectionState): boolean {
  return state.kind === "handling" && !state.body?.isIncoming;
}

export function isEnding({ kind }: ConnectionState): boolean {
  return kind === "sendingLast" || kind === "lingering" || kind === "closed";
}

/** Maximum time for a request with a body to arrive, and for a client to close its side, as a multiple of the idle timeout. */
const maxIdleTimeouts = 30;

/**
 * Returns the deadline of the state, in seconds of the listener's clock; infinity if it has none. By then the client must have sent its request or
 * closed its side, even if it sends bytes all the time (RFC 9112 section 9.5).
 */
export function clientDeadlineSeconds(state: ConnectionState, idleTimeoutSeconds: number): number {
  switch (state.kind) {
    case "readingHeader":
      return state.startedAtSeconds + idleTimeoutSeconds;
    case "handling":
      return (
        state.startedAtSeconds + Math.min(maxIdleTimeouts * idleTimeoutSeconds, state.body?.maxSeconds ?? Infinity)
      );
    case "responding":
    case "lingering":
      return state.startedAtSeconds + maxIdleTimeouts * idleTimeoutSeconds;
    default:
      return Number.POSITIVE_INFINITY;
  }
}
