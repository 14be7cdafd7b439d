// One connection: requests in, answers out, one after the other (RFC 9112 section 9.3).

import type { Socket } from "bun";
import { ArrivingBody } from "./body.ts";
import { type Head, readHead, type Section } from "./head.ts";
import { goOn, Output } from "./output.ts";
import { encodeReply, type Manner, type Reply } from "./reply.ts";
import { type Handler, Incoming } from "./request.ts";

/** What all connections of a listener have in common. */
export interface Common {
  readonly handler: Handler;
  /** Most bytes of a request body. */
  readonly longestBody: number;
  /** Seconds without a byte after which a client is given up. */
  readonly patience: number;
  /** Seconds since the listener began, counted by its timer. */
  now: number;
  /** Whether no further request is taken. */
  isStopping: boolean;
}

/** Bytes that may wait while a request is answered. */
const longestWaiting = 64 * 1024;
/** How many times the patience a whole request may take. */
const slowest = 30;

export class Connection {
  readonly #socket: Socket<unknown>;
  readonly #common: Common;
  readonly #output: Output;
  /** What has come and is not read yet. */
  #input: Buffer | undefined;
  #section: Section | undefined;
  #body: ArrivingBody | undefined;
  #isAnswering = false;
  #isPaused = false;
  /** After the last answer: what still comes is dropped, so that the client sees the answer and no reset. */
  #isEnding = false;
  #clientEnded = false;
  /** When the client last did something, and when it began the request that is under way, in seconds. */
  #activeAt: number;
  #requestAt: number | undefined;

  constructor(socket: Socket<unknown>, common: Common) {
    this.#socket = socket;
    this.#common = common;
    this.#output = new Output(socket);
    this.#activeAt = common.now;
  }

  /** Whether a request is under way or an answer not yet sent. */
  get isBusy(): boolean {
    if (!this.#output.isEmpty) return true;
    return !this.#isEnding && (this.#isAnswering || this.#requestAt !== undefined);
  }

  receive(bytes: Buffer): void {
    const { now } = this.#common;
    // A client that an answer waits for shows by reading it that it is there, not by sending more.
    if (this.#output.isEmpty) this.#activeAt = now;
    if (this.#isEnding) return;
    this.#requestAt ??= now;
    const rest = this.#feedBody(bytes);
    if (rest) this.#input = this.#input ? Buffer.concat([this.#input, rest]) : rest;
    this.#proceed();
  }

  /** The system takes bytes again. */
  drain(): void {
    if (this.#output.isEmpty) return;
    if (this.#output.flush()) this.#activeAt = this.#common.now;
    if (!this.#output.isEmpty) return;
    if (this.#isEnding) this.#shut();
    else this.#proceed();
  }

  /** The client sends no more; it may still wait for answers. */
  clientEnd(): void {
    this.#clientEnded = true;
    this.#body?.abort();
    this.#proceed();
  }

  closed(): void {
    this.#isEnding = true;
    this.#input = undefined;
    this.#body?.abort();
  }

  /** Ends the connection when its client keeps it waiting for too long. */
  sweep(): void {
    // The system tells that it takes bytes again when much was read, which may take a slow reader longer than the patience.
    this.drain();
    if (this.#isAnswering && !this.#body?.isAwaited) return;
    const { now, patience } = this.#common;
    const longest = this.#body || this.#isEnding ? slowest * patience : patience;
    const isIdle = now - this.#activeAt > patience;
    const isSlow = this.#output.isEmpty && now - (this.#requestAt ?? now) > longest;
    if (isIdle || isSlow) this.end();
  }

  /** Ends the connection, unless it is busy: then after what is under way. */
  stop(): void {
    if (!this.isBusy) this.#endAfterOutput();
  }

  /** Ends the connection now. What the system has taken still reaches the client; an answer that is cut off ends in a reset. */
  end(): void {
    if (this.#output.isEmpty) this.#socket.end();
    else this.#socket.terminate();
  }

  /** Ends the connection after a fault of our own. */
  fail(error: unknown): void {
    this.#common.handler.misread(error);
    this.#socket.terminate();
  }

  /** Gives the body what is its own; returns what is left for the next request. */
  #feedBody(bytes: Buffer): Buffer | undefined {
    const body = this.#body;
    if (!body || body.isComplete) return bytes;
    const used = body.take(bytes);
    if (!this.#isAnswering) {
      // It was answered already, so nobody else can say that nothing more can be understood.
      if (body.isMalformed) this.#endAfterOutput();
      else if (body.isComplete) this.#endRequest();
    }
    return used < bytes.length ? bytes.subarray(used) : undefined;
  }

  /** Answers request after request, as far as they have come. */
  #proceed(): void {
    while (this.#input && !this.#isEnding && !this.#isAnswering && !this.#body && this.#output.isEmpty) {
      const head = this.#readHead(this.#input);
      if (!head) break;
      this.#begin(head, this.#input);
    }
    if (this.#clientEnded && !this.#isAnswering && this.#output.isEmpty) this.#shut();
    this.#regulate();
  }

  /** Lets a client wait that sends faster than it is answered. */
  #regulate(): void {
    const isFull = this.#input !== undefined && this.#input.length > longestWaiting;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#socket.pause();
    else this.#socket.resume();
  }

  #readHead(input: Buffer): Head | undefined {
    try {
      return readHead(input, this.#section);
    } catch (error) {
      this.#refuse(error);
      return undefined;
    }
  }

  #begin(head: Head, input: Buffer): void {
    const { framing } = head.section;
    this.#section = head.section;
    this.#requestAt ??= this.#common.now;
    this.#input = head.bytes < input.length ? input.subarray(head.bytes) : undefined;
    this.#isAnswering = true;
    if (framing.isChunked || framing.length > 0) {
      const ask = framing.awaitsContinue && !head.isHttp10 ? () => this.#askForBody() : undefined;
      this.#body = new ArrivingBody(framing, this.#common.longestBody, ask);
      this.#input = this.#input && this.#feedBody(this.#input);
    }
    const reply = this.#common.handler.answer(new Incoming(head, this.#body, this.#socket));
    if (reply instanceof Promise) this.#answerLater(head, reply);
    else this.#answer(head, reply);
  }

  #answerLater(head: Head, promise: Promise<Reply>): void {
    const answer = (reply: Reply) => {
      this.#answer(head, reply);
      this.#proceed();
    };
    promise.then(answer).catch((error) => this.fail(error));
  }

  #askForBody(): void {
    this.#output.send(goOn);
    this.#activeAt = this.#common.now;
  }

  #answer(head: Head, reply: Reply): void {
    this.#isAnswering = false;
    if (this.#isEnding) return;
    const manner = this.#toManner(head);
    this.#output.send(encodeReply(reply, manner));
    this.#activeAt = this.#common.now;
    this.#body?.discard();
    if (manner.connection === "close") this.#endAfterOutput();
    else if (!this.#body || this.#body.isComplete) this.#endRequest();
  }

  #toManner({ method, isHttp10, section }: Head): Manner {
    const { keepsAlive = !isHttp10 } = section.framing;
    const isLast = this.#common.isStopping || (this.#clientEnded && !this.#input) || this.#body?.hasNoEnd;
    const connection = !keepsAlive || isLast ? "close" : isHttp10 ? "keep-alive" : undefined;
    return { headOnly: method === "HEAD", connection };
  }

  #endRequest(): void {
    this.#body = undefined;
    this.#requestAt = this.#input ? this.#common.now : undefined;
  }

  #refuse(error: unknown): void {
    const reply = this.#common.handler.misread(error);
    this.#output.send(encodeReply(reply, { headOnly: false, connection: "close" }));
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
    this.#requestAt ??= this.#common.now;
    if (this.#clientEnded) this.#socket.end();
    else this.#socket.shutdown();
  }
}
