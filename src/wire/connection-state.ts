// A connection's states. It handles one request at a time, in the order they arrive (RFC 9112 section 9.3.2).
//
//     each request:        idle -> readingHeader -> handling -> responding -> idle (or readingHeader, if the next request has started to arrive)
//     the last response:   any of these -> sendingLast -> lingering -> closed
//     a cut-off:           any state -> closed
//
// There may be no last response, for example if the client closes its side while the connection is idle. `closed` is final.

import type { RequestBody } from "./request-body.ts";
import type { RequestHeader } from "./request-header.ts";

/** `startedAtSeconds`, on the listener's clock, is when `lingering` started; in the other states, when the request started to arrive. */
export type ConnectionState = Idle | ReadingHeader | Handling | Responding | SendingLast | Lingering | Closed;

/** Waiting for a request. At most, an empty line has arrived. */
interface Idle {
  readonly kind: "idle";
}

/** A request has started to arrive. The first `examinedBytes` bytes of the input don't contain its whole header section. */
interface ReadingHeader {
  readonly kind: "readingHeader";
  readonly startedAtSeconds: number;
  readonly examinedBytes: number;
}

/** The handler has the request. Its body, if any, may still be arriving. */
export interface Handling {
  readonly kind: "handling";
  readonly startedAtSeconds: number;
  readonly header: RequestHeader;
  readonly body: RequestBody | undefined;
}

/** The output has the response, but part of it is unsent, or the rest of the request's body has yet to arrive and be discarded. */
export interface Responding {
  readonly kind: "responding";
  readonly startedAtSeconds: number;
  readonly body: RequestBody | undefined;
}

/** The output has the last response, if any. Further input is discarded. */
interface SendingLast {
  readonly kind: "sendingLast";
}

/**
 * Everything has been sent, and the server has closed its side. Until the client closes its own, we read and discard input. Otherwise a reset could destroy
 * the last response before the client has read it (RFC 9112 section 9.6).
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

/** Returns the current request's body, if there is a request and it has one. */
export function bodyOf(state: ConnectionState): RequestBody | undefined {
  return state.kind === "handling" || state.kind === "responding" ? state.body : undefined;
}

/** Whether `available` bytes of input can be read now. An incomplete header section is only read again once more of it has arrived. */
export function canRead(state: ConnectionState, available: number): boolean {
  if (state.kind === "readingHeader") return available > state.examinedBytes;
  return bodyOf(state)?.canReceive === true;
}

/** Whether the handler has a request and isn't waiting for the client to send more of its body. */
export function isHandlerRunning(state: ConnectionState): boolean {
  return state.kind === "handling" && !state.body?.isIncoming;
}

export function isEnding({ kind }: ConnectionState): boolean {
  return kind === "sendingLast" || kind === "lingering" || kind === "closed";
}

/** How long a request with a body may take to arrive, and a client to close its side, as a multiple of the idle timeout. */
const maxIdleTimeouts = 30;

/**
 * Returns the deadline, in seconds on the listener's clock, by which the client must have sent its request or closed its side, even if it keeps sending bytes
 * (RFC 9112 section 9.5). Infinity if there's none.
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
