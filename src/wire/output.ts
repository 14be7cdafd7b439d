// What is on its way to a client. A client that reads slowly gets the rest when it has read.

import type { Socket } from "bun";
import type { Outgoing } from "./reply.ts";

const interim = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");
/** Asks for the body that its client holds back (RFC 9110 section 15.2.1). */
export const goOn: Outgoing = { bytes: interim, start: 0, end: interim.length, stableFrom: 0, rest: [] };

export class Output {
  readonly #socket: Socket<unknown>;
  #waiting: Uint8Array[] = [];
  /** Bytes of the first of them that are sent. */
  #sent = 0;

  constructor(socket: Socket<unknown>) {
    this.#socket = socket;
  }

  /** Whether everything was handed to the system. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  send(outgoing: Outgoing): void {
    const { bytes, start, end, rest } = outgoing;
    if (!this.isEmpty) {
      this.#waiting.push(lasting(outgoing, start), ...rest);
      return;
    }
    const written = this.#write(bytes, start, end);
    if (written < end - start) this.#waiting.push(lasting(outgoing, start + written), ...rest);
    else if (rest.length > 0) {
      this.#waiting = [...rest];
      this.flush();
    }
  }

  /** Sends as much as the system takes. Returns whether it took anything. */
  flush(): boolean {
    let any = false;
    let index = 0;
    for (; index < this.#waiting.length; index++) {
      const bytes = this.#waiting[index] as Uint8Array;
      const written = this.#write(bytes, this.#sent, bytes.length);
      any ||= written > 0;
      this.#sent += written;
      if (this.#sent < bytes.length) break;
      this.#sent = 0;
    }
    this.#waiting.splice(0, index);
    return any;
  }

  /** Returns the number of bytes that the system took; none once the connection is gone. */
  #write(bytes: Uint8Array, start: number, end: number): number {
    return start === end ? 0 : Math.max(0, this.#socket.write(bytes as Bun.BufferSource, start, end - start));
  }
}

/** What is to be sent from `start` on, copied where it does not stay as it is. (`slice` of a Buffer would copy nothing.) */
function lasting({ bytes, end, stableFrom }: Outgoing, start: number): Uint8Array {
  const left = bytes.subarray(start, end);
  return start >= stableFrom ? left : Buffer.from(left);
}
