// What the listener and its handler exchange: requests whose header section has arrived, and incidents.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { HeaderFields } from "./header-fields.ts";
import { type BodyBytes, emptyBody, type RequestBody } from "./request-body.ts";
import type { RequestHeader } from "./request-header.ts";
import type { WireResponse } from "./response.ts";

/** The body may still be arriving. */
export interface WireRequest {
  readonly method: string;
  /** As sent, one character per byte: a path with a query, or an absolute URL (RFC 9112 section 3.2). */
  readonly target: string;
  readonly headers: HeaderFields;
  readonly address: string;
  /** Whether the connection has closed, so no response can be sent. A client that has only closed its own side still gets one. */
  readonly isAbandoned: boolean;
  /**
   * Calls `callback`, instead of any earlier one, if the client closes its side or the connection before the response; right away if it already has. If
   * the client has sent more than 64 KiB of further requests, we only notice after the response.
   */
  onClientEnd(callback: () => void): void;
  /** The whole body if it arrived with the header section; undefined if the handler has to wait for it, or it can't be read. */
  readonly receivedBody: BodyBytes | undefined;
  /**
   * Returns the whole body once it has arrived.
   * @param maxBytes replaces the listener's limit. Until a larger one is set, a longer body isn't read to the end
   * @param maxSeconds how long the whole request may take to arrive; the listener's limit is larger
   * @throws RequestError `body-too-large`, `timeout` or `malformed` (also if the client closes the connection)
   */
  readBody(maxBytes?: number, maxSeconds?: number): Promise<BodyBytes>;
  /** Discards the body as it arrives, to save memory while a request waits. Don't call `readBody` after that. */
  discardBody(): void;
}

/**
 * An event that operators should know about. At the connection limit, a connection or waiting request was ended for a new connection, or that one was turned
 * away (connection-places.ts); over the memory limit, a connection was cut off; or a TLS handshake failed. A client that just disconnects during the
 * handshake, as health checks do, isn't an incident.
 */
export type Incident =
  | "idle connection ended"
  | "slow connection ended"
  | "waiting request ended"
  | "connection rejected"
  | "connection cut off"
  | "TLS handshake failed";

/** Responds to a listener's requests. Its methods mustn't throw or reject. */
export interface Handler {
  respond(request: WireRequest): MaybePromise<WireResponse>;
  /**
   * Returns the response to a request that can't be read (`error` is a RequestError), after which the connection ends. Also called to log a bug or runtime
   * error (`error` is anything else); that response may be discarded.
   * @param address the client's address
   */
  respondToFailure(error: unknown, address: string): WireResponse;
  /**
   * Called for a new connection when we're at the limit and no other one is idle or slow enough to be ended. If a request is waiting for something that may
   * take long, such as a change to its site, the handler ends that wait and returns true. It must then respond to that request during the call or soon after,
   * which ends its connection; the new one is accepted before that. Must be fast however many requests wait, because connections arrive at any rate. Without
   * this method, waiting requests are never ended.
   */
  makeRoom?(): boolean;
  /** Clients can cause any number of incidents, so limit how many are logged. */
  logIncident(incident: Incident, reason?: string): void;
}

export class IncomingRequest implements WireRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderFields;
  readonly #body: RequestBody | undefined;
  readonly #client: PeerState;

  constructor({ method, target, section }: RequestHeader, body: RequestBody | undefined, client: PeerState) {
    this.method = method;
    this.target = target;
    this.headers = section.headers;
    this.#body = body;
    this.#client = client;
  }

  get address(): string {
    return this.#client.address;
  }

  get isAbandoned(): boolean {
    return this.#client.isClosed;
  }

  onClientEnd(callback: () => void): void {
    this.#client.onEnd(callback);
  }

  get receivedBody(): BodyBytes | undefined {
    return this.#body ? this.#body.received : emptyBody;
  }

  readBody(maxBytes?: number, maxSeconds?: number): Promise<BodyBytes> {
    return this.#body ? this.#body.readWholeBody(maxBytes, maxSeconds) : Promise.resolve(emptyBody);
  }

  discardBody(): void {
    this.#body?.discard();
  }
}

/** A connection's client: its address, and whether it has closed its side or the connection. */
export class PeerState {
  readonly address: string;
  /** Whether the client has closed its side, so that no more bytes arrive. */
  isEnded = false;
  /** Whether the connection is closed. */
  isClosed = false;
  #onEnd: (() => void) | undefined;

  constructor(address: string) {
    this.address = address;
  }

  /**
   * Sets the callback for the end of the client, instead of an earlier callback; undefined removes it. It is called once, when the client closes its
   * side or the connection; at once if the client has done so already.
   */
  onEnd(callback: (() => void) | undefined): void {
    this.#onEnd = callback;
    if (this.isEnded) this.markEnded();
  }

  markEnded(): void {
    this.isEnded = true;
    const callback = this.#onEnd;
    this.#onEnd = undefined;
    callback?.();
  }

  markClosed(): void {
    this.isClosed = true;
    this.markEnded();
  }
}
