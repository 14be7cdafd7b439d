// Serves a connection's requests one after another (RFC 9112 section 9.3.2): reads one, passes it to the handler and sends the response. Only this file
// changes `state` (connection-state.ts). Timeouts and closing are in connection.ts.

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

/** Shared by all of a listener's connections. */
export interface ConnectionContext {
  readonly handler: Handler;
  readonly roundRobin: RoundRobin;
  readonly memory: ConnectionMemoryBudget;
  readonly places: ConnectionPlaces;
  /** Limits the kernel's send buffers; undefined leaves them to the kernel. */
  readonly unsent: UnsentBudget | undefined;
  /** Maximum size of a request body, unless the handler sets another (`WireRequest.readBody`). */
  readonly maxBodyBytes: number;
  /** A client without progress for this long times out. */
  readonly idleTimeoutSeconds: number;
  /** The listener's clock: seconds since it started, counted by its timer. */
  now: number;
  /** Whether the listener is stopping, so that each connection closes after its next response. */
  isStopping: boolean;
}

interface RequestLoopOwner {
  /** The client has sent or read this many bytes, or has been sent something to read. */
  markProgress(bytes?: number): void;
  /** The handler has returned a response later, or decided about a body, so `step` may have something to do. */
  schedule(): void;
  /** A bug kept a response from being made or sent. */
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
  /** A response from the handler, for a step to send. */
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
    // Read the address now, because a closed socket has none.
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

  /** Adds `bytes` to the input. Returns false if the connection is ending, so they were discarded. */
  receive(bytes: Buffer): boolean {
    // While a response is unsent, only reading it is progress; sending more isn't.
    if (this.output.isEmpty) this.#owner.markProgress(bytes.length);
    if (isEnding(this.#state)) return false;
    this.input.add(bytes);
    if (this.#state.kind === "idle") this.#startNextRequest();
    return true;
  }

  /** Sends all or part of a response, reads part of a body, or handles one request. Returns whether a request reached the handler. */
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
   * Responds to a request that can't be read, and then ends the connection (RFC 9112 section 9.6), because we can't tell where the next request starts.
   */
  respondAndEnd(error: unknown): void {
    const response = this.#context.handler.respondToFailure(error, this.client.address);
    this.#send(response, { omitsBody: false, connection: "close" });
    this.closeAfterOutput();
  }

  /** Discards all input from now on. The connection lingers once the output is empty. */
  closeAfterOutput(): void {
    this.input.clear();
    this.#setState(sendingLast);
  }

  /** Call this when the server closes its side of the connection. */
  linger(): void {
    this.#setState({ kind: "lingering", startedAtSeconds: this.#context.now });
  }

  /** Releases all buffers and tells the handler that the client has disconnected. Call this when the socket has closed. */
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
    // The last response should say `Connection: close`, but this one is already in the output, so we end without it.
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

  /** Starts the next request once the response has been sent and the body read (RFC 9112 section 9.3). */
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
