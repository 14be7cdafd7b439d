// One connection: requests in, answers out, one after the other (RFC 9112 section 9.3).

import type { Socket } from "bun";
import { type ConnectionMemory, MemoryShare } from "./memory.ts";
import { continueResponse, Output } from "./output.ts";
import { type Queue, QueueEntry } from "./queue.ts";
import { type Handler, IncomingRequest } from "./request.ts";
import { RequestBody } from "./request-body.ts";
import { RequestError } from "./request-error.ts";
import { type HeaderSection, type RequestHeader, readRequestHeader } from "./request-header.ts";
import { encodeResponse, type ResponseFraming, type WireResponse } from "./response.ts";
import type { Turn, Turns } from "./turns.ts";

/** What all connections of a listener have in context. */
export interface ConnectionContext {
  readonly handler: Handler;
  readonly turns: Turns;
  readonly memory: ConnectionMemory;
  /** Those for which nothing is being done, in the order in which that began. Half a request does not count: it costs its client nothing. */
  readonly idle: Queue<Connection>;
  /** Most bytes of a request body. */
  readonly longestBody: number;
  /** Seconds without a byte after which a client is given up. */
  readonly idleTimeout: number;
  /** Seconds since the listener began, counted by its timer. */
  now: number;
  /** Whether no further request is taken. */
  isStopping: boolean;
}

/** Bytes that may wait before the client is made to wait. The runtime reads up to 512 KiB at once. */
const longestWaiting = 64 * 1024;
/** Bytes of a body that are read in one step. A chunk may be one byte. */
const longestPiece = 16 * 1024;
/** Longest header section to keep for the next request, which mostly has the same one: it takes up to 15 times as much memory. */
const longestKept = 2 * 1024;
/** How many times the idleTimeout a whole request may take. */
const slowest = 30;

export class Connection implements Turn {
  readonly #socket: Socket<unknown>;
  readonly #context: ConnectionContext;
  readonly #turn = new QueueEntry<Turn>(this);
  readonly #idle = new QueueEntry<Connection>(this);
  readonly #share: MemoryShare;
  readonly #output: Output;
  /** What has come and is not read yet. */
  #input: Buffer | undefined;
  /** Whether that is only the beginning of a head. */
  #isHeadPartial = false;
  /** The last one. */
  #section: HeaderSection | undefined;
  #body: RequestBody | undefined;
  /** What of these two counts as memory. */
  #heldInput: Uint8Array | undefined;
  #heldBody: Uint8Array | undefined;
  #isAnswering = false;
  #isPaused = false;
  /** After the last answer: what still comes is dropped, so that the client sees the answer and no reset. */
  #isEnding = false;
  #clientEnded = false;
  #isClosed = false;
  readonly #toIsClosed = () => this.#isClosed;
  /** When the client last did something, and when it began the request that is under way, in seconds. */
  #activeAt: number;
  #requestAt: number | undefined;

  constructor(socket: Socket<unknown>, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.#share = new MemoryShare(context.memory, () => this.end());
    this.#output = new Output(socket, this.#share);
    this.#activeAt = context.now;
    context.idle.add(this.#idle);
  }

  /** Whether a request is under way or an answer not yet sent. */
  get isBusy(): boolean {
    if (!this.#output.isEmpty) return true;
    return !this.#isEnding && (this.#isAnswering || this.#requestAt !== undefined);
  }

  /** Answers one request at once, if the connection's turn has not to come first; the others when it is its turn. */
  receive(bytes: Buffer): void {
    const { now, turns } = this.#context;
    // A client that an answer waits for shows by reading it that it is there, not by sending more.
    if (this.#output.isEmpty) this.#noteActive();
    if (this.#isEnding) return;
    this.#requestAt ??= now;
    this.#input = this.#input ? Buffer.concat([this.#input, bytes]) : bytes;
    this.#isHeadPartial = false;
    if (turns.has(this.#turn)) this.#regulate();
    else if (this.takeTurn()) turns.add(this.#turn);
  }

  /** The system takes bytes again. */
  drain(): void {
    if (this.#output.isEmpty) return;
    this.#output.isBlocked = false;
    this.#context.turns.add(this.#turn);
  }

  /** The client sends no more; it may still wait for answers. */
  clientEnd(): void {
    this.#clientEnded = true;
    this.#goOn();
  }

  closed(): void {
    this.#isClosed = true;
    this.#isEnding = true;
    this.#input = undefined;
    this.#context.turns.delete(this.#turn);
    this.#context.idle.delete(this.#idle);
    this.#body?.abort();
    this.#output.drop();
    this.#heldInput = this.#share.exchange(this.#heldInput, undefined);
    this.#heldBody = this.#share.exchange(this.#heldBody, undefined);
  }

  /** Ends the connection when its client keeps it waiting for too long. */
  sweep(): void {
    const isOurs = this.#context.turns.has(this.#turn) || (this.#isAnswering && !this.#body?.isAwaited);
    // The system tells that it takes bytes again when much was read, which may take a slow reader longer than the idleTimeout.
    this.drain();
    if (isOurs) return;
    const { now, idleTimeout } = this.#context;
    const longest = this.#body || this.#isEnding ? slowest * idleTimeout : idleTimeout;
    const isIdle = now - this.#activeAt > idleTimeout;
    const isSlow = this.#output.isEmpty && now - (this.#requestAt ?? now) > longest;
    if (isIdle || isSlow) this.#timeOut();
  }

  /** Ends the connection, unless it is busy: then after what is under way. */
  stop(): void {
    if (!this.isBusy) this.#endAfterOutput();
  }

  /** Ends the connection now. What the system has taken still reaches the client; an answer that is cut off ends in a reset. */
  end(): void {
    if (this.#output.isEmpty) this.#close();
    else this.#socket.terminate();
  }

  /**
   * Responds with 408 if a request has begun (RFC 9110 section 15.5.9). Between requests the connection just ends (RFC 9112 section
   * 9.5): a client would take the response for that to its next request.
   */
  #timeOut(): void {
    if (this.#isEnding || !this.#output.isEmpty) this.end();
    else if (this.#isAnswering) this.#body?.timeOut();
    else if (this.#isHeadPartial) this.#refuse(new RequestError("timeout", "the header section did not end in time"));
    else this.end();
  }

  /** Ends the connection after a fault of our own. */
  fail(error: unknown): void {
    this.#context.handler.respondUnreadable(error);
    this.#socket.terminate();
  }

  /** Sends a piece of an answer, reads a piece of a body, or answers one request. */
  takeTurn(): boolean {
    if (this.#isReadyToSend) this.#flush();
    if (this.#isReadyToRead) this.#feedBody();
    else if (this.#isReadyForRequest) this.#beginRequest();
    return this.#hasMore();
  }

  /** What can be done next, is done when it is the connection's turn. */
  #goOn(): void {
    if (this.#hasMore()) this.#context.turns.add(this.#turn);
  }

  /** Whether more can be done at once. */
  #hasMore(): boolean {
    if (this.#isClosed) return false;
    const hasMore = this.#isReadyToSend || this.#isReadyToRead || this.#isReadyForRequest;
    if (!hasMore && !this.#isAnswering && this.#output.isEmpty) this.#context.idle.add(this.#idle);
    if (!hasMore && this.#clientEnded) this.#endAfterClient();
    this.#regulate();
    return hasMore;
  }

  get #isReadyToSend(): boolean {
    return !this.#output.isEmpty && !this.#output.isBlocked;
  }

  get #isReadyToRead(): boolean {
    return this.#input !== undefined && this.#body !== undefined && !this.#body.isComplete;
  }

  get #isReadyForRequest(): boolean {
    if (!this.#input || this.#isHeadPartial || this.#isEnding) return false;
    return !this.#isAnswering && !this.#body && this.#output.isEmpty;
  }

  #flush(): void {
    if (this.#output.flush()) this.#noteActive();
    if (this.#isEnding && this.#output.isEmpty) this.#shut();
  }

  /** Gives the body what is its own. */
  #feedBody(): void {
    const [body, input] = [this.#body as RequestBody, this.#input as Buffer];
    const used = body.take(input.length > longestPiece ? input.subarray(0, longestPiece) : input);
    this.#input = used < input.length ? input.subarray(used) : undefined;
    if (this.#isAnswering) return;
    // It was answered already, so nobody else can say that nothing more can be understood.
    if (body.isMalformed) this.#endAfterOutput();
    else if (body.isComplete) this.#endRequest();
  }

  #beginRequest(): void {
    const input = this.#input as Buffer;
    const head = this.#readHead(input);
    if (head) this.#begin(head, input);
    else this.#isHeadPartial = true;
  }

  /** The client sends no more than what was done with. */
  #endAfterClient(): void {
    this.#body?.abort();
    if (!this.#isAnswering && this.#output.isEmpty) this.#shut();
  }

  #noteActive(): void {
    this.#activeAt = this.#context.now;
    this.#share.noteProgress();
  }

  /** Lets a client wait that sends faster than it is answered, and counts what waits. */
  #regulate(): void {
    this.#heldInput = this.#share.exchange(this.#heldInput, this.#input);
    // Once it is complete, it waits for us and not for the client.
    this.#heldBody = this.#share.exchange(this.#heldBody, this.#body?.isComplete ? undefined : this.#body?.kept);
    const isFull = this.#input !== undefined && this.#input.length > longestWaiting;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#socket.pause();
    else this.#socket.resume();
  }

  #readHead(input: Buffer): RequestHeader | undefined {
    try {
      return readRequestHeader(input, this.#section);
    } catch (error) {
      this.#refuse(error);
      return undefined;
    }
  }

  #begin(head: RequestHeader, input: Buffer): void {
    const { framing } = head.section;
    this.#section = head.section.text.length <= longestKept ? head.section : undefined;
    this.#requestAt ??= this.#context.now;
    this.#input = head.bytes < input.length ? input.subarray(head.bytes) : undefined;
    this.#isAnswering = true;
    this.#context.idle.delete(this.#idle);
    if (framing.isChunked || framing.length > 0) {
      const ask = framing.awaitsContinue && !head.isHttp10 ? () => this.#askForBody() : undefined;
      this.#body = new RequestBody(framing, this.#context.longestBody, ask);
      if (this.#input) this.#feedBody();
    }
    const response = this.#context.handler.respond(
      new IncomingRequest(head, this.#body, this.#socket, this.#toIsClosed),
    );
    if (response instanceof Promise) this.#answerLater(head, response);
    else this.#answer(head, response);
  }

  #answerLater(head: RequestHeader, promise: Promise<WireResponse>): void {
    const answer = (response: WireResponse) => {
      this.#answer(head, response);
      this.#goOn();
    };
    promise.then(answer).catch((error) => this.fail(error));
  }

  #askForBody(): void {
    this.#output.send(continueResponse);
    this.#noteActive();
  }

  #answer(head: RequestHeader, response: WireResponse): void {
    this.#isAnswering = false;
    if (this.#isEnding) return;
    const framing = this.#toFraming(head);
    this.#output.send(encodeResponse(response, framing));
    this.#noteActive();
    this.#body?.discard();
    if (framing.connection === "close") this.#endAfterOutput();
    else if (!this.#body || this.#body.isComplete) this.#endRequest();
  }

  #toFraming({ method, isHttp10, section }: RequestHeader): ResponseFraming {
    const { keepsAlive = !isHttp10 } = section.framing;
    const isLast = this.#context.isStopping || (this.#clientEnded && !this.#input) || this.#body?.hasNoEnd;
    const connection = !keepsAlive || isLast ? "close" : isHttp10 ? "keep-alive" : undefined;
    return { headOnly: method === "HEAD", connection };
  }

  #endRequest(): void {
    this.#body = undefined;
    this.#requestAt = this.#input ? this.#context.now : undefined;
  }

  #refuse(error: unknown): void {
    const response = this.#context.handler.respondUnreadable(error);
    this.#output.send(encodeResponse(response, { headOnly: false, connection: "close" }));
    this.#noteActive();
    this.#endAfterOutput();
  }

  #endAfterOutput(): void {
    this.#isEnding = true;
    this.#input = undefined;
    if (this.#output.isEmpty) this.#shut();
  }

  /** Nothing more will be sent. The client's end is waited for, so that it sees the last answer before the connection goes. */
  #shut(): void {
    this.#isEnding = true;
    this.#requestAt ??= this.#context.now;
    if (this.#clientEnded) this.#close();
    else this.#socket.shutdown();
  }

  /** Of TLS, `end` alone would wait for the client's end, for ever if it does not come (RFC 8446 section 6.1 does not ask for that). */
  #close(): void {
    this.#socket.shutdown();
    this.#socket.end();
  }
}
