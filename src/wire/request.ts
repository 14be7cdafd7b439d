// A request whose head has arrived, and who answers it.

import type { Socket } from "bun";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { RequestBody } from "./request-body.ts";
import type { RequestHeader } from "./request-header.ts";
import type { RequestHeaders } from "./request-headers.ts";
import type { WireResponse } from "./response.ts";

export interface WireRequest {
  readonly method: string;
  /** As it was sent: a path with a query, or an absolute URL. One character per byte. */
  readonly target: string;
  readonly headers: RequestHeaders;
  /** The client's address. */
  readonly address: string;
  /** Whether the connection has ended, so that no response can be sent any more. A client that only sends no more still waits. */
  readonly isAbandoned: boolean;
  /** The body, once it is there. @throws RequestError `body-too-large`, or `malformed` for one that is malformed or cut off, `timeout` */
  body(): MaybePromise<Uint8Array>;
}

/**
 * There are as many connections as may be: the longest idle one was ended for a new one, or the new one was turned away. Connections
 * keep more memory than they may: one was cut off. A TLS handshake failed; not when the client just went away, as health checks do.
 */
export type Incident =
  | "idle connection ended"
  | "connection turned away"
  | "connection cut off"
  | "TLS handshake failed";

/** Who answers. Neither may throw. */
export interface Handler {
  respond(request: WireRequest): MaybePromise<WireResponse>;
  /** The answer to bytes that are no request (a RequestError), with which the connection ends. Told of a fault of the wire's own as well. */
  respondUnreadable(error: unknown): WireResponse;
  /** Told of what no response tells of. Clients can bring it about as often as they like. */
  note(incident: Incident, reason?: string): void;
}

export class IncomingRequest implements WireRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly #body: RequestBody | undefined;
  readonly #socket: Socket<unknown>;
  readonly #isClosed: () => boolean;

  constructor(
    { method, target, section }: RequestHeader,
    body: RequestBody | undefined,
    socket: Socket<unknown>,
    isClosed: () => boolean,
  ) {
    this.method = method;
    this.target = target;
    this.headers = section.headers;
    this.#body = body;
    this.#socket = socket;
    this.#isClosed = isClosed;
  }

  get address(): string {
    return this.#socket.remoteAddress;
  }

  get isAbandoned(): boolean {
    return this.#isClosed();
  }

  body(): MaybePromise<Uint8Array> {
    return this.#body ? this.#body.whole() : nothing;
  }
}

const nothing = new Uint8Array();
