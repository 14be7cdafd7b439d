// How fast a client reads or sends while the server waits for it. A connection whose client is too slow ends.

/** Minimum bytes per second that a client must read or send, averaged over a minute (60 s) of waiting for it. A slower client times out. */
const minRate = 256;
const minuteSeconds = 60;

/** Seconds that the server waits for a client before its connection may be ended to make room for another. */
const graceSeconds = 2;

/** Maximum seconds over which the rate is averaged. */
const averagedSeconds = 8;

/**
 * Measures how fast a client reads a response or sends a body, since its connection was last idle. Only the seconds count in which the server
 * waits for the client, by the listener's clock.
 */
export class ClientRate {
  #seconds = 0;
  #rate = 0;
  /** Bytes since the last `countSecond`, and since the current minute began. */
  #ofSecond = 0;
  #ofMinute = 0;
  #isTooSlow = false;

  /** Bytes per second, averaged over up to 8 s. */
  get rate(): number {
    return this.#rate;
  }

  /** Whether the server has waited long enough (more than 2 s) to know the rate. */
  get isKnown(): boolean {
    return this.#seconds > graceSeconds;
  }

  /** Whether the client has read or sent less than 256 bytes per second in the last whole minute. */
  get isTooSlow(): boolean {
    return this.#isTooSlow;
  }

  addBytes(bytes: number): void {
    this.#ofSecond += bytes;
  }

  /** Counts one second. Call it once a second if the server waits for the client at that moment. */
  countSecond(): void {
    // Bytes before the first call do not count: the kernel's buffers took them, not the client.
    if (this.#seconds > 0) {
      this.#rate += (this.#ofSecond - this.#rate) / Math.min(this.#seconds, averagedSeconds);
      this.#ofMinute += this.#ofSecond;
      if (this.#seconds % minuteSeconds === 0) this.#endMinute();
    }
    this.#ofSecond = 0;
    this.#seconds++;
  }

  /** Starts again from zero. To be called when the connection becomes idle. */
  reset(): void {
    if (this.#seconds === 0) return;
    this.#seconds = 0;
    this.#rate = 0;
    this.#ofMinute = 0;
    this.#isTooSlow = false;
  }

  #endMinute(): void {
    this.#isTooSlow = this.#ofMinute < minuteSeconds * minRate;
    this.#ofMinute = 0;
  }
}
