// One client connection: when it may run, when it times out, and how it closes. Its requests are in request-loop.ts.
//
// When bytes arrive, a connection runs one step (one request, or part of a body). Further steps wait in the round robin (round-robin.ts), so that no client
// blocks the others. A connection without a step is waiting for its client or the handler.
//
// Invariants:
// - A connection is in the idle queue only while it waits for its client. It leaves when a request reaches the handler, and returns once the response has
//   been sent.
// - Only silent or slow clients time out. The handler's time doesn't count.
// - The last response is delivered before the socket closes: the server closes its side, reads until the client closes, and then ends the connection
//   (RFC 9112 section 9.6).
// - `closed` is final. By then, every buffer that the memory budget counts has been released.

import type { Socket } from "bun";
import { QueueEntry } from "../lib/linked-queue.ts";
import { MemoryShare } from "./connection-memory.ts";
import type { PlacedConnection } from "./connection-places.ts";
import { bodyOf, clientDeadlineSeconds, isEnding, isHandlerRunning } from "./connection-state.ts";
import { RequestError } from "./request-error.ts";
import { type ConnectionContext, RequestLoop } from "./request-loop.ts";
import type { StepTask } from "./round-robin.ts";

/** How long a connection counts as new if no request has arrived, because the first may still be in transit. */
const newbornSeconds = 2;

export class Connection implements StepTask, PlacedConnection {
  readonly #socket: Socket<unknown>;
  readonly #context: ConnectionContext;
  readonly #stepEntry = new QueueEntry<StepTask>(this);
  readonly #idleEntry = new QueueEntry<PlacedConnection>(this);
  readonly #memoryShare: MemoryShare;
  readonly #requestLoop: RequestLoop;
  readonly #clientRate = new ClientRate();
  /** Seconds on the listener's clock. */
  readonly #openedAt: number;
  #hasHadRequest = false;
  /** When the client last sent or read something, or was sent a response, in seconds on the listener's clock. */
  #lastProgressAt: number;
  /** Whether to time out at the next step. Timeouts are spread out, because the kernel takes time to free each socket. */
  #isTimeoutPending = false;

  constructor(socket: Socket<unknown>, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.#memoryShare = new MemoryShare(context.memory, () => this.endNow());
    this.#requestLoop = new RequestLoop(socket, context, this.#memoryShare, this);
    this.#openedAt = context.now;
    this.#lastProgressAt = context.now;
    context.places.idle.add(this.#idleEntry);
  }

  /** Whether a request has started to arrive or is being handled, or a response is still being sent. */
  get isBusy(): boolean {
    return !this.isDone && this.#requestLoop.state.kind !== "idle";
  }

  /** Whether the last response has been sent. The connection may live on until its client closes it. */
  get isDone(): boolean {
    const { state, output } = this.#requestLoop;
    return output.isEmpty && isEnding(state);
  }

  /** Whether the connection was opened in the last 2 s, and its first request may still be in transit. */
  get isNewborn(): boolean {
    return !this.#hasHadRequest && this.#context.now - this.#openedAt <= newbornSeconds;
  }

  /** Whether the client has kept us waiting more than 2 s to read a response or send a body. */
  get isSlow(): boolean {
    return this.#clientRate.isKnown && this.#waitsForClient;
  }

  /** Bytes per second that the client has been reading or sending while we waited for it, averaged over up to 8 s. */
  get rate(): number {
    return this.#clientRate.rate;
  }

  /** Handles bytes from the client: one request right away, and the rest in later steps. */
  receive(bytes: Buffer): void {
    const { roundRobin } = this.#context;
    if (!this.#requestLoop.receive(bytes)) return;
    if (roundRobin.has(this.#stepEntry)) this.#requestLoop.input.applyBackpressure();
    else if (!this.#hasHadRequest && !roundRobin.takeDirectStep(true)) roundRobin.add(this.#stepEntry);
    else if (this.runStep()) roundRobin.add(this.#stepEntry);
  }

  /** The kernel's send buffer has space again. */
  onWritable(): void {
    const { output } = this.#requestLoop;
    if (output.isEmpty) return;
    output.unblock();
    this.#context.roundRobin.add(this.#stepEntry);
  }

  /** The client has closed its side. It may still be waiting for responses. */
  onPeerEnd(): void {
    this.#requestLoop.client.markEnded();
    this.schedule();
  }

  onClosed(): void {
    this.#context.roundRobin.delete(this.#stepEntry);
    this.#context.places.idle.delete(this.#idleEntry);
    this.#requestLoop.close();
  }

  /** Called once a second. If the client has kept us waiting too long, a later step ends the connection. */
  checkTimeout(): void {
    const { roundRobin } = this.#context;
    const { state, output } = this.#requestLoop;
    if (this.#waitsForClient) this.#clientRate.countSecond();
    const isServerDue = (roundRobin.has(this.#stepEntry) && !output.isBlocked) || isHandlerRunning(state);
    this.#isTimeoutPending = !isServerDue && this.#hasClientTimedOut;
    // The kernel only reports free space once much of its send buffer is free. A slow client may take longer than the idle timeout to read that much, so we
    // try to write once a second.
    if (output.isBlocked) output.offerAgain();
    if (this.#isTimeoutPending || output.isBlocked) roundRobin.add(this.#stepEntry);
  }

  /** Ends the connection if it's idle. A busy one ends with its next response (`isStopping`). */
  endWhenIdle(): void {
    if (this.isBusy) return;
    this.#requestLoop.closeAfterOutput();
    this.schedule();
  }

  /** Ends the connection now. Bytes that the kernel has accepted still reach the client. A response that gets cut off ends in a reset. */
  endNow(): void {
    if (this.#requestLoop.output.isEmpty) this.#close();
    else this.#socket.terminate();
  }

  /** Resets the connection after a bug or a runtime error, and lets the handler log it. */
  endAfterBug(error: unknown): void {
    this.#context.handler.respondToFailure(error, this.#requestLoop.client.address);
    this.#socket.terminate();
  }

  /** The client has sent or read `bytes` bytes, or has been sent a response to read. */
  markProgress(bytes = 0): void {
    this.#lastProgressAt = this.#context.now;
    this.#clientRate.addBytes(bytes);
    this.#memoryShare.markProgress();
  }

  /**
   * Runs one step. Then times out if `checkTimeout` has asked for that and the client hasn't made progress since. Returns whether there's another step to run
   * now.
   */
  runStep(): boolean {
    try {
      if (this.#requestLoop.step()) {
        this.#hasHadRequest = true;
        this.#context.places.idle.delete(this.#idleEntry);
      }
      if (this.#isTimeoutPending && this.#endIfTimedOut()) return false;
      return this.#hasStepLeftOrWaits();
    } catch (error) {
      this.endAfterBug(error);
      return false;
    }
  }

  schedule(): void {
    if (this.#hasStepLeftOrWaits()) this.#context.roundRobin.add(this.#stepEntry);
  }

  /**
   * Whether the connection can't go on until its client has read more of a response or sent more of a body. Only such a connection may be ended for being slow.
   */
  get #waitsForClient(): boolean {
    const { state, input, output } = this.#requestLoop;
    if (state.kind === "handling") return state.body?.isHandlerWaiting === true && !input.bytes;
    return output.isBlocked;
  }

  /** Times out unless the client has made progress since `checkTimeout`. Returns whether it did. */
  #endIfTimedOut(): boolean {
    this.#isTimeoutPending = false;
    if (!this.#hasClientTimedOut || isHandlerRunning(this.#requestLoop.state)) return false;
    this.#respondToTimeout();
    return true;
  }

  /** Whether the client has been inactive for too long, is too slow, or has passed the deadline of its state (RFC 9112 section 9.5). */
  get #hasClientTimedOut(): boolean {
    const { now, idleTimeoutSeconds } = this.#context;
    const { state, output } = this.#requestLoop;
    if (now - this.#lastProgressAt > idleTimeoutSeconds || this.#clientRate.isTooSlow) return true;
    return output.isEmpty && now > clientDeadlineSeconds(state, idleTimeoutSeconds);
  }

  /**
   * Responds with a 408 if a request has started to arrive (RFC 9110 section 15.5.9). Otherwise just ends the connection (RFC 9112 section 9.5), because the
   * client would take the 408 for the response to its next request.
   */
  #respondToTimeout(): void {
    const { state, output } = this.#requestLoop;
    if (output.isEmpty && state.kind === "readingHeader") {
      this.#requestLoop.respondAndEnd(new RequestError("timeout", "the rest of the headers didn't arrive in time"));
      this.schedule();
    } else if (output.isEmpty && state.kind === "handling") state.body?.timeOut();
    else this.endNow();
  }

  /** Returns whether there's another step to run. If not, the connection waits for its client or the handler, or ends. */
  #hasStepLeftOrWaits(): boolean {
    if (this.#requestLoop.state.kind === "closed") return false;
    const hasMore = this.#requestLoop.canStep;
    if (!hasMore) this.#waitForClient();
    this.#requestLoop.input.applyBackpressure();
    return hasMore;
  }

  #waitForClient(): void {
    const { state, client, output } = this.#requestLoop;
    const body = bodyOf(state);
    // The client has closed its side, so the rest of the body won't arrive (RFC 9112 section 8). If the body is paused, it may be in the input.
    if (client.isEnded && !body?.isPaused) body?.abort();
    if (state.kind === "handling" || !output.isEmpty) return;
    this.#clientRate.reset();
    const { places } = this.#context;
    places.idle.add(this.#idleEntry);
    const isLast = state.kind === "sendingLast";
    if (places.areTooMany && (isLast || state.kind === "idle")) this.endNow();
    else if (client.isEnded || isLast) this.#linger();
  }

  /** Closes the server's side, then waits until the client closes its own (RFC 9112 section 9.6). */
  #linger(): void {
    this.#requestLoop.linger();
    if (this.#requestLoop.client.isEnded) this.#close();
    else this.#socket.shutdown();
  }

  /**
   * Closes both sides. With TLS, `end` alone would wait for the client's close_notify, which RFC 8446 section 6.1 doesn't require, so the connection might
   * never close.
   */
  #close(): void {
    this.#socket.shutdown();
    this.#socket.end();
  }
}

/** A client that reads or sends fewer bytes per second, averaged over a minute of waiting for it, times out. */
const minRate = 256;
const minuteSeconds = 60;

/** How many seconds a client can keep us waiting before its connection may be ended to make room for another. */
const graceSeconds = 2;

const averagedSeconds = 8;

/**
 * Measures how fast a client has been reading a response or sending a body since its connection was last idle. Only seconds in which we wait for the client
 * count.
 */
class ClientRate {
  /** Bytes per second, averaged over up to 8 s. */
  rate = 0;
  /** Whether the client managed less than 256 bytes per second in the last whole minute. */
  isTooSlow = false;
  #seconds = 0;
  /** Bytes since the last `countSecond`, and since the start of the minute. */
  #ofSecond = 0;
  #ofMinute = 0;

  /** Whether we've waited long enough (more than 2 s) to know the rate. */
  get isKnown(): boolean {
    return this.#seconds > graceSeconds;
  }

  addBytes(bytes: number): void {
    this.#ofSecond += bytes;
  }

  /** Call this once a second if we're waiting for the client at that moment. */
  countSecond(): void {
    // Bytes before the first call don't count, because they went to the kernel's buffers, not to the client.
    if (this.#seconds > 0) {
      this.rate += (this.#ofSecond - this.rate) / Math.min(this.#seconds, averagedSeconds);
      this.#ofMinute += this.#ofSecond;
      if (this.#seconds % minuteSeconds === 0) this.#endMinute();
    }
    this.#ofSecond = 0;
    this.#seconds++;
  }

  /** Starts over. Call this when the connection becomes idle. */
  reset(): void {
    if (this.#seconds === 0) return;
    this.#seconds = 0;
    this.rate = 0;
    this.#ofMinute = 0;
    this.isTooSlow = false;
  }

  #endMinute(): void {
    this.isTooSlow = this.#ofMinute < minuteSeconds * minRate;
    this.#ofMinute = 0;
  }
}
