// What the listener passes to its handler: requests whose header section has arrived, and incidents.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import { type BodyBytes, emptyBody, type RequestBody } from "./request-body.ts";
import type { RequestHeader, RequestHeaders } from "./request-header.ts";
import type { WireResponse } from "./response.ts";

export interface WireRequest {
  readonly method: string;
  /** The request target as sent: a path with a query, or an absolute URL (RFC 9112 section 3.2). One character per byte. */
  readonly target: string;
  readonly headers: RequestHeaders;
  /** The client's address. */
  readonly address: string;
  /** Whether the connection is closed, so that no response can be sent. A client that has closed only its own side still waits for one. */
  readonly isAbandoned: boolean;
  /**
   * Calls `callback`, in place of the one before, when the client closes its side or the connection before this request has its response;
   * at once if it has done so. If the client has sent more than 64 KiB of further requests, that is noticed only after the response.
   */
  onClientEnd(callback: () => void): void;
  /**
   * The body, once all of it has arrived.
   * @param maxBytes if less than the listener reads of every body
   * @throws RequestError `body-too-large`, `timeout`, or `malformed`, also when the client closes the connection
   */
  body(maxBytes?: number): MaybePromise<BodyBytes>;
  /** Drops what has arrived of the body and what will arrive, for a request that waits and does not read it. `body` is not called then. */
  dropBody(): void;
}

/**
 * At the limit of connections, one was ended for a new one (places.ts), or the new one was turned away. Above the limit of memory,
 * a connection was cut off. A TLS handshake failed; this does not include clients that just close the connection, as health checks do.
 */
export type Incident =
  | "idle connection ended"
  | "slow connection ended"
  | "waiting request ended"
  | "connection turned away"
  | "connection cut off"
  | "TLS handshake failed";

/** Makes the responses. None of its methods may throw. */
export interface Handler {
  respond(request: WireRequest): MaybePromise<WireResponse>;
  /**
   * The response to a request that cannot be read (RequestError). The connection ends with it. Called for faults of the wire itself too.
   * @param address the client's
   */
  respondUnreadable(error: unknown, address: string): WireResponse;
  /**
   * Called at the limit of connections, when a new one comes and no other can make room: none is idle, and no client is slow. If a request waits
   * for something that may take long, such as a change of its site, ends its waiting and returns true. Its response must then come without
   * further waiting; it need not come within the call. It ends its connection, and the new one is accepted meanwhile. Without this method, no
   * request makes room. A new connection may come at any moment, so this must take as long with many waiting requests as with few.
   */
  makeRoom?(): boolean;
  /** Called for each incident. Clients can cause any number of them. */
  note(incident: Incident, reason?: string): void;
}

export class IncomingRequest implements WireRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly #body: RequestBody | undefined;
  readonly #client: Client;

  constructor({ method, target, section }: RequestHeader, body: RequestBody | undefined, client: Client) {
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

  body(maxBytes?: number): MaybePromise<BodyBytes> {
    return this.#body ? this.#body.whole(maxBytes) : emptyBody;
  }

  dropBody(): void {
    this.#body?.discard();
  }
}

/** What is known of the client of a connection: where it is, and whether it is still there. */
export class Client {
  readonly address: string;
  #isEnded = false;
  #isClosed = false;
  #onEnd: (() => void) | undefined;

  constructor(address: string) {
    this.address = address;
  }

  /** Whether it has closed its side, so that nothing more arrives. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether the connection does not exist any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Calls `callback`, in place of the one before, when the client closes its side or the connection; at once if it has. Undefined for none. */
  onEnd(callback: (() => void) | undefined): void {
    this.#onEnd = callback;
    if (this.#isEnded) this.end();
  }

  /** To be called when the client has closed its side. */
  end(): void {
    this.#isEnded = true;
    const callback = this.#onEnd;
    this.#onEnd = undefined;
    callback?.();
  }

  /** To be called when the connection does not exist any more. */
  close(): void {
    this.#isClosed = true;
    this.end();
  }
}
