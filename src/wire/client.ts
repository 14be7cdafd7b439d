/** What is known of the client of a connection: where it is, and whether it is still there. */
export class Client {
  readonly address: string;
  #isEnded = false;
  #isClosed = false;
  #onEnd: (() => void) | undefined;

  constructor(address: string) {
    this.address = address;
  }

  /** Whether it has closed its side, so that nothing more arrives. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether the connection does not exist any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Calls `callback`, in place of the one before, when the client closes its side or the connection; at once if it has. Undefined for none. */
  onEnd(callback: (() => void) | undefined): void {
    this.#onEnd = callback;
    if (this.#isEnded) this.end();
  }

  /** To be called when the client has closed its side. */
  end(): void {
    this.#isEnded = true;
    const callback = this.#onEnd;
    this.#onEnd = undefined;
    callback?.();
  }

  /** To be called when the connection does not exist any more. */
  close(): void {
    this.#isClosed = true;
    this.end();
  }
}
