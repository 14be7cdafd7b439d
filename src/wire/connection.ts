// One client's connection: its turns among the others, how long it waits for its client, and how it ends.

import type { Socket } from "bun";
import { type ConnectionMemory, MemoryShare } from "./connection-memory.ts";
import { bodyOf, deadlineOf, isEnding, isWithHandler } from "./connection-state.ts";
import type { Places } from "./places.ts";
import type { Handler } from "./request.ts";
import { RequestError } from "./request-header.ts";
import { RequestLoop } from "./request-loop.ts";
import { QueueEntry, type Turn, type Turns } from "./round-robin.ts";

/** What all connections of a listener share. */
export interface ConnectionContext {
  readonly handler: Handler;
  readonly turns: Turns;
  readonly memory: ConnectionMemory;
  readonly places: Places;
  /** Bound of a request body. */
  readonly maxBodyBytes: number;
  /** Seconds without progress after which a client times out. */
  readonly idleTimeout: number;
  /** Seconds since the listener began, counted by its timer. */
  now: number;
  /** Whether each connection ends with its next response. */
  isStopping: boolean;
}

/** Seconds in which the first request of a new connection may be on its way. */
const newbornTime = 2;

export class Connection implements Turn {
  readonly #socket: Socket<unknown>;
  readonly #context: ConnectionContext;
  readonly #turn = new QueueEntry<Turn>(this);
  readonly #idle = new QueueEntry<Connection>(this);
  readonly #share: MemoryShare;
  readonly #requests: RequestLoop;
  readonly #pace = new ClientPace();
  /** When it was opened, in seconds of the listener's clock. */
  readonly #openedAt: number;
  #hasHadRequest = false;
  /** When the client last sent or read something, in seconds of the listener's clock. */
  #activeAt: number;
  /** Whether it ends with its next turn. Many may be overdue at once, and the system takes time to free what it keeps of each. */
  #isSweptOut = false;

  constructor(socket: Socket<unknown>, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.#share = new MemoryShare(context.memory, () => this.end());
    this.#requests = new RequestLoop(socket, context, this.#share, this);
    this.#openedAt = context.now;
    this.#activeAt = context.now;
    context.places.idle.add(this.#idle);
  }

  /** Whether a request is under way or a response not yet sent. */
  get isBusy(): boolean {
    return !this.isDone && this.#requests.state.kind !== "idle";
  }

  /** Whether the last response is sent. The connection may still exist, until its client closes it. */
  get isDone(): boolean {
    const { state, output } = this.#requests;
    return output.isEmpty && isEnding(state);
  }

  /** Whether it has just been opened, and its first request may be on its way. */
  get isNewborn(): boolean {
    return !this.#hasHadRequest && this.#context.now - this.#openedAt <= newbornTime;
  }

  /** Whether the server has waited for its client for some time: the client does not read a response, or does not send a body. */
  get isSlow(): boolean {
    return this.#pace.isKnown && this.#waitsForClient;
  }

  /** Bytes per second that its client has read or sent of late, while the server waited for it. */
  get rate(): number {
    return this.#pace.rate;
  }

  /** Reads what the client sent: at once up to the end of one request, and more when it is this connection's turn. */
  receive(bytes: Buffer): void {
    const { turns } = this.#context;
    if (!this.#requests.receive(bytes)) return;
    if (turns.has(this.#turn)) this.#requests.input.regulate();
    else if (this.takeTurn()) turns.add(this.#turn);
  }

  /** The system accepts output again. */
  drain(): void {
    const { output } = this.#requests;
    if (output.isEmpty) return;
    output.unblock();
    this.#context.turns.add(this.#turn);
  }

  /** The client closed its side. It may still wait for responses. */
  clientEnd(): void {
    this.#requests.client.end();
    this.goOn();
  }

  /** The connection does not exist any more. */
  closed(): void {
    this.#context.turns.delete(this.#turn);
    this.#context.places.idle.delete(this.#idle);
    this.#requests.close();
  }

  /** Ends the connection, in a turn of its own, if the server has waited too long for its client. Called once a second. */
  sweep(): void {
    const { turns } = this.#context;
    const { state, output } = this.#requests;
    if (this.#waitsForClient) this.#pace.tick();
    const isOurTurn = (turns.has(this.#turn) && !output.isBlocked) || isWithHandler(state);
    this.#isSweptOut = !isOurTurn && this.#isOverdue;
    // The system reports that it accepts output again only when much of its buffer is free. A slow reader may need longer than the
    // idle timeout for that, so the output is offered again here.
    if (output.isBlocked) output.offerAgain();
    if (this.#isSweptOut || output.isBlocked) turns.add(this.#turn);
  }

  /** Ends the connection, unless it is busy: then it ends with its next response. */
  stop(): void {
    if (this.isBusy) return;
    this.#requests.endAfterOutput();
    this.goOn();
  }

  /** Ends the connection now. What the system has accepted still reaches the client; a response that is cut off ends in a reset. */
  end(): void {
    if (this.#requests.output.isEmpty) this.#close();
    else this.#socket.terminate();
  }

  /** Ends the connection after a fault of this program or of the runtime. */
  fail(error: unknown): void {
    this.#context.handler.respondUnreadable(error, this.#requests.client.address);
    this.#socket.terminate();
  }

  noteActive(bytes = 0): void {
    this.#activeAt = this.#context.now;
    this.#pace.move(bytes);
    this.#share.noteProgress();
  }

  takeTurn(): boolean {
    if (this.#requests.step()) this.#beginRequest();
    if (this.#isSweptOut && this.#sweepOut()) return false;
    return this.#settle();
  }

  /** Waits for a turn, if there is something to do. */
  goOn(): void {
    if (this.#settle()) this.#context.turns.add(this.#turn);
  }

  #beginRequest(): void {
    this.#hasHadRequest = true;
    this.#context.places.idle.delete(this.#idle);
  }

  /** Whether nothing goes on until the client reads more of a response, or sends more of a body. Only then may it make room for another. */
  get #waitsForClient(): boolean {
    const { state, input, output } = this.#requests;
    if (state.kind === "handling") return state.body?.isWaitedFor === true && !input.bytes;
    return output.isBlocked;
  }

  /** Ends the connection, unless its client has done its part since the sweep. Returns whether it did. */
  #sweepOut(): boolean {
    this.#isSweptOut = false;
    if (!this.#isOverdue || isWithHandler(this.#requests.state)) return false;
    this.#timeOut();
    return true;
  }

  /** Whether the client sends and reads nothing, or sends too slowly (RFC 9112 section 9.5). */
  get #isOverdue(): boolean {
    const { now, idleTimeout } = this.#context;
    const { state, output } = this.#requests;
    if (now - this.#activeAt > idleTimeout || this.#pace.isTooSlow) return true;
    return output.isEmpty && now > deadlineOf(state, idleTimeout);
  }

  /**
   * Sends 408 if a request has begun (RFC 9110 section 15.5.9). Otherwise the connection just ends (RFC 9112 section 9.5): a client
   * would take the 408 for the response to its next request.
   */
  #timeOut(): void {
    const { state, output } = this.#requests;
    if (output.isEmpty && state.kind === "readingHeader") {
      this.#requests.refuse(new RequestError("timeout", "the header section did not end in time"));
      this.goOn();
    } else if (output.isEmpty && state.kind === "handling") state.body?.timeOut();
    else this.end();
  }

  /** Whether there is something to do. If not, the connection waits for its client or for the handler, or ends. */
  #settle(): boolean {
    if (this.#requests.state.kind === "closed") return false;
    const hasMore = this.#requests.hasStep;
    if (!hasMore) this.#wait();
    this.#requests.input.regulate();
    return hasMore;
  }

  #wait(): void {
    const { state, client, output } = this.#requests;
    // What is missing of the body will not come (RFC 9112 section 8).
    if (client.isEnded) bodyOf(state)?.abort();
    if (state.kind === "handling" || !output.isEmpty) return;
    this.#pace.reset();
    const { places } = this.#context;
    places.idle.add(this.#idle);
    const isLast = state.kind === "sendingLast";
    if (places.areTooMany && (isLast || state.kind === "idle")) this.end();
    else if (client.isEnded || isLast) this.#linger();
  }

  /** Closes the server's side, and then waits for the client to close its own (RFC 9112 section 9.6). */
  #linger(): void {
    this.#requests.linger();
    if (this.#requests.client.isEnded) this.#close();
    else this.#socket.shutdown();
  }

  /**
   * Closes both sides. With TLS, `end` alone would wait for the client's close_notify, forever if it does not come: RFC 8446 section
   * 6.1 does not require the client to send one.
   */
  #close(): void {
    this.#socket.shutdown();
    this.#socket.end();
  }
}

/** Bytes per second that a client must move, on average over a minute for which the server waits for it. */
const minRate = 256;
const minute = 60;

/** Seconds for which the server waits for a client before its connection may make room for another. */
const grace = 2;

/** Seconds over which the rate is averaged. */
const memory = 8;

/**
 * How fast a client does its part since its connection was last idle: reads a response, or sends a body. Only the time counts in which the
 * server waits for it, in seconds of the listener's clock.
 */
class ClientPace {
  #seconds = 0;
  #rate = 0;
  /** Bytes since the last second, and in the present minute. */
  #ofSecond = 0;
  #ofMinute = 0;
  #isTooSlow = false;

  /** Bytes per second, of late. */
  get rate(): number {
    return this.#rate;
  }

  /** Whether the server has waited for long enough to tell how fast the client is. */
  get isKnown(): boolean {
    return this.#seconds > grace;
  }

  /** Whether less than 256 bytes per second were moved in a whole minute. */
  get isTooSlow(): boolean {
    return this.#isTooSlow;
  }

  move(bytes: number): void {
    this.#ofSecond += bytes;
  }

  /** Counts a second at whose end the server waits for the client. */
  tick(): void {
    // What was moved before the server began to wait went into the buffers of the system.
    if (this.#seconds > 0) {
      this.#rate += (this.#ofSecond - this.#rate) / Math.min(this.#seconds, memory);
      this.#ofMinute += this.#ofSecond;
      if (this.#seconds % minute === 0) this.#endMinute();
    }
    this.#ofSecond = 0;
    this.#seconds++;
  }

  /** To be called when the connection is idle: the client has done its part. */
  reset(): void {
    if (this.#seconds === 0) return;
    this.#seconds = 0;
    this.#rate = 0;
    this.#ofMinute = 0;
    this.#isTooSlow = false;
  }

  #endMinute(): void {
    this.#isTooSlow = this.#ofMinute < minute * minRate;
    this.#ofMinute = 0;
  }
}
