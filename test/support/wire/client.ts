// A client that sends and receives raw bytes. It reports them as soon as they arrive, so that no test waits longer than it has to.

import { connect, type Socket } from "node:net";
import { limitReceiveBuffer } from "../../../src/wire/socket-options.ts";

export interface ReceivedResponse {
  readonly status: number;
  /** Keyed by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WireClient {
  readonly socket: Socket;
  /** All bytes received, one character per byte. */
  readonly received: string;
  send(bytes: string | Uint8Array): void;
  /** Sends each piece separately, once the kernel has accepted the previous one. */
  sendPieces(pieces: Iterable<string | Uint8Array>): Promise<void>;
  /** Resolves with all bytes received once `isEnough` is true. Rejects if the connection closes first. */
  until(isEnough: (received: string) => boolean): Promise<string>;
  /** Resolves with all responses so far once there are at least `count`. */
  responses(count: number): Promise<ReceivedResponse[]>;
  /** Resolves with all bytes received once the server has closed the connection. */
  ended(): Promise<{ received: string; isReset: boolean }>;
}

/** Connects to 127.0.0.1. If the server closes its side, the client's stays open until `destroy` or `end`. */
export async function openClient(port: number, through?: Socket): Promise<WireClient> {
  const socket = through ?? connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
  let received = "";
  const reader = new ResponseReader();
  let isReset = false;
  const end = new Promise<void>((resolve) => {
    socket.once("end", resolve);
    socket.once("close", resolve);
  });
  const changed = new Set<() => void>();
  const notify = () => {
    for (const callback of [...changed]) callback();
  };
  socket.on("data", (part: Buffer) => {
    const text = part.toString("latin1");
    received += text;
    reader.add(text);
    notify();
  });
  socket.on("error", () => {
    isReset = true;
  });
  socket.on("close", notify);
  socket.on("end", notify);
  const client: WireClient = {
    socket,
    get received() {
      return received;
    },
    send: (bytes) => void socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes),
    async sendPieces(pieces) {
      for (const piece of pieces) {
        if (socket.destroyed) return;
        const bytes = typeof piece === "string" ? Buffer.from(piece, "latin1") : piece;
        await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
      }
    },
    until(isEnough) {
      return new Promise((resolve, reject) => {
        const check = () => {
          if (isEnough(received)) resolve(received);
          else if (socket.readableEnded || socket.closed) {
            reject(new Error(`the connection ended after ${JSON.stringify(received.slice(-500))}`));
          } else return;
          changed.delete(check);
        };
        changed.add(check);
        check();
      });
    },
    async responses(count) {
      await client.until(() => reader.read().length >= count);
      return reader.responses;
    },
    async ended() {
      await end;
      return { received, isReset };
    },
  };
  await new Promise<void>((resolve, reject) => {
    if (!socket.connecting) resolve();
    socket.once(through ? "secureConnect" : "connect", resolve);
    socket.once("error", reject);
  });
  return client;
}

/** Bytes that a client's kernel receives before the client reads them, after `limitReceiving`. Linux doubles this. */
export const receiveBufferBytes = 256 * 1024;

/**
 * Keeps the receive buffer of a client's kernel small, on Linux. Call this for a client that reads and then stops: by default, its buffer grows while it
 * reads, and on a busy machine up to 32 MiB, so nobody knows what the server has left to send.
 */
export function limitReceiving({ socket }: WireClient): void {
  const { _handle } = socket as unknown as { readonly _handle: { readonly fd: number } };
  limitReceiveBuffer(_handle.fd, receiveBufferBytes);
}

/** Returns the complete responses in `received`, including interim ones. `isHead` gets a response's index, and returns true if it's for HEAD. */
export function toResponses(received: string, isHead?: (index: number) => boolean): ReceivedResponse[] {
  const reader = new ResponseReader(isHead);
  reader.add(received);
  return reader.read();
}

class ResponseReader {
  readonly responses: ReceivedResponse[] = [];
  readonly #isHead: (index: number) => boolean;
  /** The bytes after the last complete response. */
  #text = "";
  /** How many bytes the next complete response has at least, as far as we know. */
  #least = 0;

  constructor(isHead: (index: number) => boolean = () => false) {
    this.#isHead = isHead;
  }

  add(text: string): void {
    this.#text += text;
  }

  /** All complete responses so far. */
  read(): ReceivedResponse[] {
    let at = 0;
    while (this.#text.length - at >= this.#least) {
      const end = this.#readOne(at);
      if (end === undefined) break;
      at = end;
    }
    if (at > 0) this.#text = this.#text.slice(at);
    return this.responses;
  }

  /** Reads the response that starts here. Returns where it ends; undefined if it's incomplete. */
  #readOne(at: number): number | undefined {
    this.#least = 0;
    const end = this.#text.indexOf("\r\n\r\n", at);
    if (end === -1) return undefined;
    const [first = "", ...lines] = this.#text.slice(at, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    if (!status) throw new Error(`no response begins with ${JSON.stringify(first.slice(0, 80))}`);
    const headers = Object.fromEntries(lines.map(toField));
    const hasBody = status >= 200 && status !== 204 && status !== 304 && !this.#isHead(this.responses.length);
    const bodyEnd = end + 4 + (hasBody ? Number(headers["content-length"]) : 0);
    if (bodyEnd > this.#text.length) {
      this.#least = bodyEnd - at;
      return undefined;
    }
    this.responses.push({ status, headers, body: this.#text.slice(end + 4, bodyEnd) });
    return bodyEnd;
  }
}

function toField(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

/** Sends `bytes`, closes the client's side, and returns the responses until the server closes its own. */
export async function exchangeOnce(port: number, bytes: string | readonly string[]): Promise<ReceivedResponse[]> {
  const client = await openClient(port);
  await client.sendPieces(typeof bytes === "string" ? [bytes] : bytes);
  client.socket.end();
  const { received } = await client.ended();
  client.socket.destroy();
  return toResponses(received);
}

/** Returns a request with this first line, these header lines and this body. Adds `Host` unless it's there. */
export function toRequest(line: string, lines: readonly string[] = [], body = ""): string {
  const host = lines.some((header) => /^host:/i.test(header)) ? [] : ["Host: x"];
  return `${[line, ...host, ...lines].join("\r\n")}\r\n\r\n${body}`;
}

/** Cuts `stream` at `places`, counted modulo its length. */
export function cut(stream: string, places: readonly number[]): string[] {
  const ends = [...places.map((place) => place % stream.length), stream.length].sort((a, b) => a - b);
  return ends.map((end, index) => stream.slice(ends[index - 1] ?? 0, end)).filter((piece) => piece !== "");
}

/** Puts `body` in chunks of these sizes, and one more with the rest. */
export function toChunks(body: string, sizes: readonly number[], extension = "", trailers = ""): string {
  let at = 0;
  let chunks = "";
  for (const size of [...sizes, body.length]) {
    const part = body.slice(at, at + size);
    at += size;
    if (part !== "") chunks += `${part.length.toString(16)}${extension}\r\n${part}\r\n`;
  }
  return `${chunks}0${extension}\r\n${trailers}\r\n`;
}
