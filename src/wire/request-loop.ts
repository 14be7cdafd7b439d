// What a connection does: it reads a request, gives it to the handler and sends the response, one request after the other. Each method
// below `step` is a transition of the state in connection-state.ts.

import type { Socket } from "bun";
import type { ConnectionContext } from "./connection.ts";
import {
  bodyOf,
  type ConnectionState,
  canRead,
  closed,
  deadlineOf,
  type Handling,
  idle,
  isEnding,
  type Responding,
  sendingLast,
} from "./connection-state.ts";
import { Input } from "./input.ts";
import type { MemoryShare } from "./memory.ts";
import { continueResponse, Output } from "./output.ts";
import { IncomingRequest } from "./request.ts";
import { RequestBody } from "./request-body.ts";
import { RequestError } from "./request-error.ts";
import { type HeaderSection, type RequestHeader, readRequestHeader } from "./request-header.ts";
import { encodeResponse, type ResponseFraming, type WireResponse } from "./response.ts";

/** Bytes of a body that are read in one step. A chunk may be one byte. */
const maxBodyStep = 16 * 1024;
/** Bytes of a header section that is kept parsed, which takes up to 15 times as much memory. The next request mostly has the same one. */
const maxKeptSection = 2 * 1024;

/** What the loop needs of its connection. */
interface Owner {
  /** There may be something to do, after a response that came later. */
  goOn(): void;
  fail(error: unknown): void;
}

export class RequestLoop {
  readonly input: Input;
  readonly output: Output;
  readonly #socket: Socket<unknown>;
  readonly #context: ConnectionContext;
  readonly #share: MemoryShare;
  readonly #owner: Owner;
  readonly #isClosed = () => this.#state.kind === "closed";
  #state: ConnectionState = idle;
  /** The last header section. */
  #section: HeaderSection | undefined;
  /** When the client last sent or read something, in seconds of the listener's clock. */
  #activeAt: number;

  constructor(socket: Socket<unknown>, context: ConnectionContext, share: MemoryShare, owner: Owner) {
    this.#socket = socket;
    this.#context = context;
    this.#share = share;
    this.#owner = owner;
    this.input = new Input(socket, share);
    this.output = new Output(socket, share);
    this.#activeAt = context.now;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Whether a request is under way or a response not yet sent. */
  get isBusy(): boolean {
    return !this.output.isEmpty || !(this.#state.kind === "idle" || isEnding(this.#state));
  }

  /** Whether the handler works on a request, and does not wait for its body. */
  get isWithHandler(): boolean {
    return this.#state.kind === "handling" && !this.#state.body?.isAwaited;
  }

  /** Whether the client is too slow: it sends and reads nothing at all, or too little (RFC 9112 section 9.5). */
  get isOverdue(): boolean {
    const { now, idleTimeout } = this.#context;
    if (now - this.#activeAt > idleTimeout) return true;
    return this.output.isEmpty && now > deadlineOf(this.#state, idleTimeout);
  }

  /** Whether `step` would do something. */
  get hasStep(): boolean {
    const { bytes } = this.input;
    return this.output.isReady || (bytes !== undefined && canRead(this.#state, bytes.length));
  }

  /** Adds `bytes` to the input, unless the connection is ending. Returns whether it did. */
  receive(bytes: Buffer): boolean {
    // A client that is sent a response shows that it is there by reading it, not by sending more.
    if (this.output.isEmpty) this.#noteActive();
    if (isEnding(this.#state)) return false;
    this.input.add(bytes);
    if (this.#state.kind === "idle") this.#awaitRequest();
    return true;
  }

  /** Sends a part of a response, and reads a part of a body or one header section. Returns whether a request began. */
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
   * Sends 408 to a client whose request has begun (RFC 9110 section 15.5.9). Returns false when there is none: then the connection
   * just ends (RFC 9112 section 9.5), since a client would take the 408 for the response to its next request.
   */
  timeOut(): boolean {
    const state = this.#state;
    if (!this.output.isEmpty) return false;
    if (state.kind === "readingHeader")
      this.#refuse(new RequestError("timeout", "the header section did not end in time"));
    else if (state.kind === "handling") state.body?.timeOut();
    else return false;
    return true;
  }

  /** The output is the last. What the client sends from now on is dropped. */
  endAfterOutput(): void {
    this.input.clear();
    this.#enter(sendingLast);
  }

  /** The server's side of the connection is closed. */
  linger(): void {
    this.#enter({ kind: "lingering", since: this.#context.now });
  }

  /** The connection does not exist any more. */
  close(): void {
    const body = bodyOf(this.#state);
    this.#enter(closed);
    this.input.clear();
    this.output.drop();
    body?.abort();
  }

  #enter(next: ConnectionState): void {
    // A socket may be closed by writing to it.
    if (this.#state.kind !== "closed") this.#state = next;
  }

  #awaitRequest(): void {
    this.#enter(this.input.bytes ? { kind: "readingHeader", since: this.#context.now, examined: 0 } : idle);
  }

  #readHeader(bytes: Buffer, since: number): boolean {
    let header: RequestHeader | undefined;
    try {
      header = readRequestHeader(bytes, this.#section);
    } catch (error) {
      this.#refuse(error);
      return false;
    }
    if (header) this.#handle(header, since);
    else this.#enter({ kind: "readingHeader", since, examined: bytes.length });
    return header !== undefined;
  }

  #handle(header: RequestHeader, since: number): void {
    this.#section = header.section.text.length <= maxKeptSection ? header.section : undefined;
    this.input.consume(header.bytes);
    const body = this.#toBody(header);
    this.#enter({ kind: "handling", since, header, body });
    if (body && this.input.bytes) this.#readBody(body, this.input.bytes);
    const request = new IncomingRequest(header, body, this.#socket, this.#isClosed);
    const response = this.#context.handler.respond(request);
    if (response instanceof Promise) this.#respondLater(response);
    else this.#respond(response);
  }

  /** Undefined when there is none (RFC 9112 section 6.3, rule 7) or its length is 0. */
  #toBody({ section: { framing }, isHttp10 }: RequestHeader): RequestBody | undefined {
    if (!framing.isChunked && framing.length === 0) return undefined;
    // RFC 9110 section 10.1.1: HTTP/1.0 does not know `100 Continue`.
    const ask = framing.awaitsContinue && !isHttp10 ? () => this.#sendContinue() : undefined;
    return new RequestBody(framing, this.#context.maxBodyBytes, this.#share, ask);
  }

  #sendContinue(): void {
    this.output.send(continueResponse);
    this.#noteActive();
  }

  #readBody(body: RequestBody, bytes: Buffer): void {
    const used = body.take(bytes.length > maxBodyStep ? bytes.subarray(0, maxBodyStep) : bytes);
    this.input.consume(used);
    if (this.#state.kind !== "responding") return;
    // The response is no longer there to say that the connection must end.
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
    const framing = this.#toFraming(state);
    this.#send(response, framing);
    state.body?.discard();
    if (framing.connection === "close") this.endAfterOutput();
    else this.#endRequest(state);
  }

  /** The request is done with when its response is sent and its body read: only then the next one can be found (RFC 9112 section 9.3). */
  #endRequest({ since, body }: Handling | Responding): void {
    if (this.output.isEmpty && body?.isComplete !== false) this.#awaitRequest();
    else this.#enter({ kind: "responding", since, body });
  }

  /** RFC 9112 section 9.3: HTTP/1.1 connections persist and those of HTTP/1.0 do not, unless the client says otherwise. */
  #toFraming({ header: { method, isHttp10, section }, body }: Handling): ResponseFraming {
    const { keepsAlive = !isHttp10 } = section.framing;
    const isLast = this.#context.isStopping || (this.input.isEnded && !this.input.bytes) || body?.hasNoEnd;
    const connection = !keepsAlive || isLast ? "close" : isHttp10 ? "keep-alive" : undefined;
    return { headOnly: method === "HEAD", connection };
  }

  #flush(): void {
    if (this.output.flush()) this.#noteActive();
    if (this.#state.kind === "responding") this.#endRequest(this.#state);
  }

  /** Where the next request would begin is not known, so this response is the last (RFC 9112 section 9.6). */
  #refuse(error: unknown): void {
    this.#send(this.#context.handler.respondUnreadable(error), { headOnly: false, connection: "close" });
    this.endAfterOutput();
  }

  #send(response: WireResponse, framing: ResponseFraming): void {
    this.output.send(encodeResponse(response, framing));
    this.#noteActive();
  }

  #noteActive(): void {
    this.#activeAt = this.#context.now;
    this.#share.noteProgress();
  }
}
