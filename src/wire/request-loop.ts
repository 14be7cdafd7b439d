// The requests of one connection: reads a request, passes it to the handler and sends the response, one request after another (RFC 9112
// section 9.3.2). The current state is in `state` (connection-state.ts), which only this file changes. Timeouts and closing are in connection.ts.

import type { Socket } from "bun";
import type { ConnectionMemoryBudget, MemoryShare } from "./connection-memory.ts";
import type { ConnectionPlaces } from "./connection-places.ts";
import {
  bodyOf,
  type ConnectionState,
  canRead,
  closed,
  type Handling,
  idle,
  isEnding,
  type Responding,
  sendingLast,
} from "./connection-state.ts";
import { encodeResponse } from "./encode-response.ts";
import { HeaderReader } from "./header-reader.ts";
import { type Handler, IncomingRequest, PeerState } from "./request.ts";
import { type BodyOwner, openBody, type RequestBody } from "./request-body.ts";
import { hasBegun, type RequestHeader } from "./request-header.ts";
import { type ResponseFraming, toResponseFraming, type WireResponse } from "./response.ts";
import type { RoundRobin } from "./round-robin.ts";
import { continueResponse, Input, Output } from "./streams.ts";
import type { UnsentBudget } from "./unsent-budget.ts";

/** What all connections of a listener share. */
export interface ConnectionContext {
  readonly handler: Handler;
  readonly roundRobin: RoundRobin;
  readonly memory: ConnectionMemoryBudget;
  readonly places: ConnectionPlaces;
  /** The budget of the kernel's buffers for responses; undefined if the kernel decides. */
  readonly unsent: UnsentBudget | undefined;
  /** Maximum size of a request body, in bytes, unless the handler sets another (`WireRequest.readBody`). */
  readonly maxBodyBytes: number;
  /** Seconds without progress after which a client times out. */
  readonly idleTimeoutSeconds: number;
  /** The listener's clock: seconds since the listener started, counted by its timer. */
  now: number;
  /** Whether the listener is stopping, so that each connection closes after its next response. */
  isStopping: boolean;
}

interface RequestLoopOwner {
  /** Called when the client has sent or read this many bytes, or has been sent something to read. */
  markProgress(bytes?: number): void;
  /** Called when the handler has returned a response asynchronously or decided about a body, so that `step` may have something to do. */
  schedule(): void;
  /** Called when a response could not be made or sent, because of a bug. */
  endAfterBug(error: unknown): void;
}

export class RequestLoop {
  readonly input: Input;
  readonly output: Output;
  readonly client: PeerState;
  readonly #context: ConnectionContext;
  readonly #share: MemoryShare;
  readonly #owner: RequestLoopOwner;
  readonly #headers = new HeaderReader();
  #state: ConnectionState = idle;
  #hasResponded = false;
  /** A response that the handler has returned, and that a step sends. */
  #returned: WireResponse | undefined;
  readonly #bodyOwner: BodyOwner = {
    sendContinue: () => {
      this.output.send(continueResponse);
      this.#owner.markProgress();
    },
    schedule: () => {
      this.#owner.markProgress();
      this.#owner.schedule();
    },
  };

  constructor(socket: Socket<unknown>, context: ConnectionContext, share: MemoryShare, owner: RequestLoopOwner) {
    this.#context = context;
    this.#share = share;
    this.#owner = owner;
    this.input = new Input(socket, share);
    this.output = new Output(socket, share, context.unsent);
    // The address is read now, because a closed socket has none.
    this.client = new PeerState(socket.remoteAddress ?? "");
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get canStep(): boolean {
    const { bytes } = this.input;
    return (
      this.output.canFlush ||
      this.#returned !== undefined ||
      (bytes !== undefined && canRead(this.#state, bytes.length))
    );
  }

  /** Adds `bytes` to the input. Returns false if the connection is ending: then they are discarded. */
  receive(bytes: Buffer): boolean {
    // While a response is unsent, only reading it counts as progress, not sending more.
    if (this.output.isEmpty) this.#owner.markProgress(bytes.length);
    if (isEnding(this.#state)) return false;
    this.input.add(bytes);
    if (this.#state.kind === "idle") this.#startNextRequest();
    return true;
  }

  /** Sends a response or a part of it, or reads a part of a body or handles one request. Returns whether a request began. */
  step(): boolean {
    if (this.output.canFlush) this.#flush();
    if (this.#returned) {
      this.#respond(this.#returned);
      return false;
    }
    const { bytes } = this.input;
    if (!bytes || !canRead(this.#state, bytes.length)) return false;
    if (this.#state.kind === "readingHeader") return this.#readHeader(bytes, this.#state.startedAtSeconds);
    const body = bodyOf(this.#state);
    if (body) this.#readBody(body, bytes);
    return false;
  }

  /**
   * Responds to a request that cannot be read, and ends the connection after that response (RFC 9112 section 9.6), because the beginning of the
   * next request is unknown.
   */
  respondAndEnd(error: unknown): void {
    const response = this.#context.handler.respondToFailure(error, this.client.address);
    this.#send(response, { omitsBody: false, connection: "close" });
    this.closeAfterOutput();
  }

  /** Discards all input, now and later. The connection lingers as soon as the output is empty. */
  closeAfterOutput(): void {
    this.input.clear();
    this.#setState(sendingLast);
  }

  /** Enters the state `lingering`. To be called when the server closes its side of the connection. */
  linger(): void {
    this.#setState({ kind: "lingering", startedAtSeconds: this.#context.now });
  }

  /** Releases all buffers and tells the handler that the client has disconnected. To be called when the socket is closed. */
  close(): void {
    const body = bodyOf(this.#state);
    this.#setState(closed);
    this.#returned = undefined;
    this.input.clear();
    this.output.discardAll();
    body?.abort();
    this.client.markClosed();
  }

  #setState(next: ConnectionState): void {
    // A write may have closed the socket, and `closed` is final.
    if (this.#state.kind !== "closed") this.#state = next;
  }

  #startNextRequest(): void {
    this.#setState(
      hasBegun(this.input.bytes)
        ? { kind: "readingHeader", startedAtSeconds: this.#context.now, examinedBytes: 0 }
        : idle,
    );
  }

  #readHeader(bytes: Buffer, since: number): boolean {
    let header: RequestHeader | undefined;
    try {
      header = this.#headers.parse(bytes);
    } catch (error) {
      this.respondAndEnd(error);
      return false;
    }
    if (header) this.#handle(header, bytes, since);
    else this.#setState({ kind: "readingHeader", startedAtSeconds: since, examinedBytes: bytes.length });
    return header !== undefined;
  }

  #handle(header: RequestHeader, bytes: Buffer, since: number): void {
    const { handler, maxBodyBytes } = this.#context;
    const body = openBody(header, maxBodyBytes, this.#share, this.#bodyOwner);
    this.#setState({ kind: "handling", startedAtSeconds: since, header, body });
    const hasMore = body !== undefined && header.bytes < bytes.length;
    this.input.consume(header.bytes + (hasMore ? body.receiveStep(bytes, header.bytes) : 0));
    const response = handler.respond(new IncomingRequest(header, body, this.client));
    if (response instanceof Promise) this.#respondLater(response);
    else this.#respond(response);
  }

  #readBody(body: RequestBody, bytes: Buffer): void {
    this.input.consume(body.receiveStep(bytes, 0));
    if (this.#state.kind !== "responding") return;
    // Normally the last response says `Connection: close`. This response has been passed to the output already, so end without it.
    if (body.isMalformed) this.closeAfterOutput();
    else this.#finishRequest(this.#state);
  }

  #respondLater(response: Promise<WireResponse>): void {
    const respond = (made: WireResponse) => {
      if (this.#context.roundRobin.takeDirectStep(!this.#hasResponded)) this.#respond(made);
      else if (this.#state.kind !== "closed") this.#returned = made;
      this.#owner.schedule();
    };
    response.then(respond).catch((error) => this.#owner.endAfterBug(error));
  }

  #respond(response: WireResponse): void {
    this.#returned = undefined;
    const state = this.#state;
    if (state.kind !== "handling") return;
    this.#hasResponded = true;
    this.client.onEnd(undefined);
    const { isStopping, places } = this.#context;
    const isLastRequest = (this.client.isEnded && !hasBegun(this.input.bytes)) || state.body?.isEndUnknown === true;
    const framing = toResponseFraming(state.header, isStopping || places.areTooMany || isLastRequest);
    this.#send(response, framing);
    state.body?.discard();
    if (framing.connection === "close") this.closeAfterOutput();
    else this.#finishRequest(state);
  }

  /** Starts the next request, if the response is sent and the body is read; otherwise waits for that (RFC 9112 section 9.3). */
  #finishRequest({ startedAtSeconds: since, body }: Handling | Responding): void {
    if (this.output.isEmpty && body?.isComplete !== false) this.#startNextRequest();
    else this.#setState({ kind: "responding", startedAtSeconds: since, body });
  }

  #flush(): void {
    const bytes = this.output.flush();
    if (bytes > 0) this.#owner.markProgress(bytes);
    if (this.#state.kind === "responding") this.#finishRequest(this.#state);
  }

  #send(response: WireResponse, framing: ResponseFraming): void {
    this.output.send(encodeResponse(response, framing));
    this.#owner.markProgress();
  }
}
