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
export class ClientPace {
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
