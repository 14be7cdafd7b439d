// The interface between the listener and its handler: a request after its header section has arrived, and incidents.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { HeaderFields } from "./header-fields.ts";
import { type BodyBytes, emptyBody, type RequestBody } from "./request-body.ts";
import type { RequestHeader } from "./request-header.ts";
import type { WireResponse } from "./response.ts";

/** A request as the handler sees it. Its body may still be arriving. */
export interface WireRequest {
  readonly method: string;
  /** The request target as sent: a path with a query, or an absolute URL (RFC 9112 section 3.2). One character per byte. */
  readonly target: string;
  readonly headers: HeaderFields;
  readonly address: string;
  /** Whether the connection is closed, so that a response cannot be sent. A client that has closed only its own side still gets the response. */
  readonly isAbandoned: boolean;
  /**
   * Sets the callback for the end of the client, instead of an earlier callback. It is called when the client closes its side or the connection
   * before the request has its response; at once if the client has done so already. If the client has sent more than 64 KiB of further requests,
   * its end is noticed only after the response.
   */
  onClientEnd(callback: () => void): void;
  /** The whole body, if it arrived with the header section; undefined if the handler must wait for it, or it cannot be read. */
  readonly receivedBody: BodyBytes | undefined;
  /**
   * Returns the whole body when all of it has arrived.
   * @param maxBytes another limit than that of the listener. A larger one allows this request a longer body; until then, the rest of it is not read
   * @param maxSeconds maximum time in which the whole request must arrive; the listener has a larger limit
   * @throws RequestError `body-too-large`, `timeout`, or `malformed`, also when the client closes the connection
   */
  readBody(maxBytes?: number, maxSeconds?: number): Promise<BodyBytes>;
  /** Discards the body, now and as it arrives, to save memory. For a request that waits without reading its body; do not call `readBody` then. */
  discardBody(): void;
}

/**
 * An event that operators should know of. At the limit of connections, a connection or a waiting request was ended for a new connection, or the new
 * connection was turned away (connection-places.ts). Above the memory limit, a connection was cut off. Or a TLS handshake failed. A client that just closes the
 * connection during the handshake, as health checks do, is not an incident.
 */
export type Incident =
  | "idle connection ended"
  | "slow connection ended"
  | "waiting request ended"
  | "connection turned away"
  | "connection cut off"
  | "TLS handshake failed";

/** Makes the responses to the requests of a listener. Its methods must not throw or reject. */
export interface Handler {
  respond(request: WireRequest): MaybePromise<WireResponse>;
  /**
   * Returns the response to a request that cannot be read (`error` is a RequestError); the connection ends after it. Also called for a bug or an
   * error of the runtime (`error` is any other value), so that the handler logs it; then the response may be discarded.
   * @param address the client's address
   */
  respondToFailure(error: unknown, address: string): WireResponse;
  /**
   * Called when a new connection arrives at the limit of connections, and no other connection is idle or slow enough to be ended. If a request
   * waits for something that may take long, such as a change of its site, the handler ends that wait and returns true. It must then respond to that
   * request during the call or soon after; the response ends its connection. The new connection is accepted first. Without this method, waiting
   * requests are never ended. The call must be fast however many requests wait, because connections may arrive at any rate.
   */
  makeRoom?(): boolean;
  /** Called for each incident. Clients can cause any number of incidents, so limit how many are logged. */
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

/** The client of a connection: its address, and whether it has closed its side or the connection. */
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

  /** Records that the client has closed its side, and calls the callback. */
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
