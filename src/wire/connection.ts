// One connection: requests in, answers out, one after the other (RFC 9112 section 9.3).

import type { Socket } from "bun";
import { Refusal } from "../model/errors.ts";
import type { Maybe } from "../model/maybe.ts";
import { ArrivingBody } from "./body.ts";
import type { Fields } from "./fields.ts";
import { type Head, readHead, type Section } from "./head.ts";
import { Output } from "./output.ts";
import { encodeReply, type Manner, type Reply } from "./reply.ts";

/** A request whose head has arrived. */
export interface WireRequest {
  readonly method: string;
  /** As it was sent: a path with a query, or an absolute URL. One character per byte. */
  readonly target: string;
  readonly fields: Fields;
  /** The client's address. */
  readonly address: string;
  /** The body, once it is there. @throws Refusal `too-large`, or `bad-request` for one that is malformed or cut off */
  body(): Maybe<Uint8Array>;
}

/** Who answers. Neither may throw. */
export interface Handler {
  answer(request: WireRequest): Maybe<Reply>;
  /** The answer to bytes that are no request. The connection ends with it. */
  misread(error: unknown): Reply;
}

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
    this.#activeAt = this.#common.now;
    if (this.#isEnding) return;
    this.#requestAt ??= this.#activeAt;
    const rest = this.#feedBody(bytes);
    if (!rest) return;
    this.#input = this.#input ? Buffer.concat([this.#input, rest]) : rest;
    this.#proceed();
    if (this.#isAnswering && this.#input && this.#input.length > longestWaiting && !this.#isPaused) {
      this.#isPaused = true;
      this.#socket.pause();
    }
  }

  /** The system takes bytes again. */
  drain(): void {
    if (this.#output.isEmpty) return;
    if (this.#output.flush()) this.#activeAt = this.#common.now;
    if (!this.#output.isEmpty) return;
    if (this.#isEnding || this.#clientEnded) this.#shut();
    else this.#proceed();
  }

  /** The client sends no more; it may still wait for an answer. */
  clientEnd(): void {
    this.#clientEnded = true;
    if (this.#body && !this.#body.isComplete) this.#body.abort();
    if (!this.#isAnswering && this.#output.isEmpty) this.#shut();
  }

  closed(): void {
    this.#isEnding = true;
    this.#input = undefined;
    this.#body?.abort();
  }

  /** Ends the connection when its client keeps it waiting for too long. */
  sweep(): void {
    const { now, patience } = this.#common;
    const waitsForUs = this.#isAnswering && (this.#body?.isComplete ?? true);
    if (waitsForUs) return;
    const idle = now - this.#activeAt > patience;
    const begun = this.#requestAt ?? now;
    const isSlow = now - begun > (this.#body ? slowest * patience : patience) && this.#output.isEmpty;
    if (idle || isSlow) this.#socket.terminate();
  }

  /** Ends the connection now, unless it is busy: then after what is under way. */
  stop(): void {
    if (!this.isBusy) this.#endAfterOutput();
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Gives the body what is its own; returns what is left for the next request. */
  #feedBody(bytes: Buffer): Buffer | undefined {
    const body = this.#body;
    if (!body || body.isComplete) return bytes;
    try {
      const used = body.take(bytes);
      if (body.isComplete && !this.#isAnswering) this.#endRequest();
      return used < bytes.length ? bytes.subarray(used) : undefined;
    } catch {
      // Whoever waits for the body answers it. When it was answered already, nothing more can be understood.
      if (!this.#isAnswering) this.#endAfterOutput();
      return undefined;
    }
  }

  /** Answers request after request, as far as they have come. */
  #proceed(): void {
    while (this.#input && !this.#isEnding && !this.#isAnswering && !this.#body && this.#output.isEmpty) {
      let head: Head | undefined;
      try {
        head = readHead(this.#input, this.#section);
      } catch (error) {
        this.#refuse(error);
        return;
      }
      if (!head) return;
      this.#begin(head, this.#input);
    }
    this.#resume();
  }

  #resume(): void {
    if (!this.#isPaused || this.#isAnswering) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  #begin(head: Head, input: Buffer): void {
    const { framing } = head.section;
    this.#section = head.section;
    this.#requestAt ??= this.#common.now;
    this.#input = head.bytes < input.length ? input.subarray(head.bytes) : undefined;
    this.#isAnswering = true;
    if (framing.isChunked || framing.length > 0) {
      this.#body = new ArrivingBody(framing, this.#common.longestBody);
      this.#input = this.#input && this.#feedBody(this.#input);
    }
    const reply = this.#common.handler.answer(new Incoming(head, this.#body, this.#socket));
    if (reply instanceof Promise) void reply.then((later) => this.#answerLater(head, later));
    else this.#answer(head, reply);
  }

  #answerLater(head: Head, reply: Reply): void {
    this.#answer(head, reply);
    this.#proceed();
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
    const goesOn = keepsAlive && !this.#common.isStopping && !this.#clientEnded && !this.#isLost(section);
    const connection = goesOn ? (isHttp10 ? "keep-alive" : undefined) : "close";
    return { headOnly: method === "HEAD", connection };
  }

  /** Whether nobody can tell where the next request begins. */
  #isLost({ framing }: Section): boolean {
    const body = this.#body;
    return body !== undefined && !body.isComplete && (body.isMalformed || framing.awaitsContinue);
  }

  #endRequest(): void {
    this.#body = undefined;
    this.#requestAt = this.#input ? this.#common.now : undefined;
  }

  #refuse(error: unknown): void {
    if (!(error instanceof Refusal)) throw error;
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
    if (this.#clientEnded) this.#socket.end();
    else this.#socket.shutdown();
  }
}

class Incoming implements WireRequest {
  readonly method: string;
  readonly target: string;
  readonly fields: Fields;
  readonly #awaitsContinue: boolean;
  readonly #body: ArrivingBody | undefined;
  readonly #socket: Socket<unknown>;

  constructor({ method, target, section }: Head, body: ArrivingBody | undefined, socket: Socket<unknown>) {
    this.method = method;
    this.target = target;
    this.fields = section.fields;
    this.#awaitsContinue = section.framing.awaitsContinue;
    this.#body = body;
    this.#socket = socket;
  }

  get address(): string {
    return this.#socket.remoteAddress;
  }

  body(): Maybe<Uint8Array> {
    if (!this.#body) return nothing;
    const body = this.#body.whole();
    if (this.#awaitsContinue && body instanceof Promise) this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    return body;
  }
}

const nothing = new Uint8Array();
