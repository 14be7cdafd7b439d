// The requests of one connection: reads a request, passes it to the handler and sends the response, one request after another (RFC 9112
// section 9.3.2). The current state is in `state` (connection-state.ts), which only this file changes. Timeouts and closing are in connection.ts.

import type { Socket } from "bun";
import type { ConnectionContext } from "./connection.ts";
import type { MemoryShare } from "./connection-memory.ts";
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
import { Client, IncomingRequest } from "./request.ts";
import { openBody, type RequestBody } from "./request-body.ts";
import { HeaderReader, hasBegun, type RequestHeader } from "./request-header.ts";
import { type ResponseFraming, toResponseFraming, type WireResponse } from "./response.ts";
import { continueResponse, Input, Output } from "./streams.ts";

/** The methods of a connection that its request loop calls. */
interface Owner {
  /** Called when the client has sent or read this many bytes, or has been sent something to read. */
  noteActive(bytes?: number): void;
  /** Called when the handler has returned a response asynchronously, so that `step` may have something to do. */
  goOn(): void;
  /** Called when a response could not be made or sent, because of a bug. */
  fail(error: unknown): void;
}

export class RequestLoop {
  readonly input: Input;
  readonly output: Output;
  readonly client: Client;
  readonly #context: ConnectionContext;
  readonly #share: MemoryShare;
  readonly #owner: Owner;
  readonly #headers = new HeaderReader();
  #state: ConnectionState = idle;
  readonly #sendContinue = () => {
    this.output.send(continueResponse);
    this.#owner.noteActive();
  };

  constructor(socket: Socket<unknown>, context: ConnectionContext, share: MemoryShare, owner: Owner) {
    this.#context = context;
    this.#share = share;
    this.#owner = owner;
    this.input = new Input(socket, share);
    this.output = new Output(socket, share);
    // The address is read now, because a closed socket has none.
    this.client = new Client(socket.remoteAddress ?? "");
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Whether `step` has something to do. */
  get hasStep(): boolean {
    const { bytes } = this.input;
    return this.output.isReady || (bytes !== undefined && canRead(this.#state, bytes.length));
  }

  /** Adds `bytes` to the input. Returns false if the connection is ending: then they are discarded. */
  receive(bytes: Buffer): boolean {
    // While a response is unsent, only reading it counts as progress, not sending more.
    if (this.output.isEmpty) this.#owner.noteActive(bytes.length);
    if (isEnding(this.#state)) return false;
    this.input.add(bytes);
    if (this.#state.kind === "idle") this.#awaitRequest();
    return true;
  }

  /** Sends a part of a response, and reads a part of a body or handles one request. Returns whether a request began. */
  step(): boolean {
    if (this.output.isReady) this.#flush();
    const { bytes } = this.input;
    if (!bytes || !canRead(this.#state, bytes.length)) return false;
    if (this.#state.kind === "readingHeader") return this.#readHeader(bytes, this.#state.since);
    const body = bodyOf(this.#state);
    if (body) this.#readBody(body, bytes);
    return false;
  }

  /**
   * Responds to a request that cannot be read, and ends the connection after that response (RFC 9112 section 9.6), because the beginning of the
   * next request is unknown.
   */
  refuse(error: unknown): void {
    const response = this.#context.handler.respondUnreadable(error, this.client.address);
    this.#send(response, { headOnly: false, connection: "close" });
    this.endAfterOutput();
  }

  /** Discards all input, now and later. The connection lingers as soon as the output is empty. */
  endAfterOutput(): void {
    this.input.clear();
    this.#enter(sendingLast);
  }

  /** Enters the state `lingering`. To be called when the server closes its side of the connection. */
  linger(): void {
    this.#enter({ kind: "lingering", since: this.#context.now });
  }

  /** Releases all buffers and tells the handler that the client has disconnected. To be called when the socket is closed. */
  close(): void {
    const body = bodyOf(this.#state);
    this.#enter(closed);
    this.input.clear();
    this.output.drop();
    body?.abort();
    this.client.close();
  }

  #enter(next: ConnectionState): void {
    // A write may have closed the socket, and `closed` is final.
    if (this.#state.kind !== "closed") this.#state = next;
  }

  #awaitRequest(): void {
    this.#enter(hasBegun(this.input.bytes) ? { kind: "readingHeader", since: this.#context.now, examined: 0 } : idle);
  }

  #readHeader(bytes: Buffer, since: number): boolean {
    let header: RequestHeader | undefined;
    try {
      header = this.#headers.read(bytes);
    } catch (error) {
      this.refuse(error);
      return false;
    }
    if (header) this.#handle(header, bytes, since);
    else this.#enter({ kind: "readingHeader", since, examined: bytes.length });
    return header !== undefined;
  }

  #handle(header: RequestHeader, bytes: Buffer, since: number): void {
    const { handler, maxBodyBytes } = this.#context;
    const body = openBody(header, maxBodyBytes, this.#share, this.#sendContinue);
    this.#enter({ kind: "handling", since, header, body });
    const hasMore = body !== undefined && header.bytes < bytes.length;
    this.input.consume(header.bytes + (hasMore ? body.readStep(bytes, header.bytes) : 0));
    const response = handler.respond(new IncomingRequest(header, body, this.client));
    if (response instanceof Promise) this.#respondLater(response);
    else this.#respond(response);
  }

  #readBody(body: RequestBody, bytes: Buffer): void {
    this.input.consume(body.readStep(bytes, 0));
    if (this.#state.kind !== "responding") return;
    // Normally the last response says `Connection: close`. This response has been passed to the output already, so end without it.
    if (body.isMalformed) this.endAfterOutput();
    else this.#endRequest(this.#state);
  }

  #respondLater(response: Promise<WireResponse>): void {
    const respond = (made: WireResponse) => {
      this.#respond(made);
      this.#owner.goOn();
    };
    response.then(respond).catch((error) => this.#owner.fail(error));
  }

  #respond(response: WireResponse): void {
    const state = this.#state;
    if (state.kind !== "handling") return;
    this.client.onEnd(undefined);
    const { isStopping, places } = this.#context;
    const hasNoNext = (this.client.isEnded && !hasBegun(this.input.bytes)) || state.body?.hasNoEnd === true;
    const framing = toResponseFraming(state.header, isStopping || places.areTooMany || hasNoNext);
    this.#send(response, framing);
    state.body?.discard();
    if (framing.connection === "close") this.endAfterOutput();
    else this.#endRequest(state);
  }

  /** Starts the next request, if the response is sent and the body is read; otherwise waits for that (RFC 9112 section 9.3). */
  #endRequest({ since, body }: Handling | Responding): void {
    if (this.output.isEmpty && body?.isComplete !== false) this.#awaitRequest();
    else this.#enter({ kind: "responding", since, body });
  }

  #flush(): void {
    const bytes = this.output.flush();
    if (bytes > 0) this.#owner.noteActive(bytes);
    if (this.#state.kind === "responding") this.#endRequest(this.#state);
  }

  #send(response: WireResponse, framing: ResponseFraming): void {
    this.output.send(encodeResponse(response, framing));
    this.#owner.noteActive();
  }
}
