// Measures how much memory Linux uses for TCP sockets.

import { readFileSync } from "node:fs";

/** Between readings. Each starts a process, which takes a few milliseconds for a thousand sockets. */
const sampleMs = 200;
const pageBytes = 4096;

/** In bytes, for a server's sockets and for all of the machine's, which include clients on the same machine. */
interface SocketMemory {
  readonly own: number;
  readonly all: number;
}

/** Keeps reading how much the kernel uses for sockets, until `stop`. */
export class SocketSampler {
  readonly #port: string;
  readonly #before = readAllSockets();
  readonly #timer: NodeJS.Timeout;
  #peak: SocketMemory = { own: 0, all: 0 };

  /** @param url the server's address */
  constructor(url: string) {
    this.#port = new URL(url).port;
    this.#timer = setInterval(() => this.#sample(), sampleMs);
  }

  /** Returns the highest readings. For all sockets, it's the increase since the start. */
  stop(): SocketMemory {
    clearInterval(this.#timer);
    this.#sample();
    return this.#peak;
  }

  #sample(): void {
    const own = readSocketsAt(this.#port);
    const all = readAllSockets() - this.#before;
    this.#peak = { own: Math.max(this.#peak.own, own), all: Math.max(this.#peak.all, all) };
  }
}

/** Returns the bytes for sockets on a local port (ss(8), `skmem`): unread, unacknowledged and reserved. */
function readSocketsAt(port: string): number {
  const listed = Bun.spawnSync(["ss", "-tmnH", "sport", "=", `:${port}`]).stdout.toString();
  let bytes = 0;
  for (const [, received, reserved, written] of listed.matchAll(/skmem:\(r(\d+),.*?,f(\d+),w(\d+)/g))
    bytes += Number(received) + Number(reserved) + Number(written);
  return bytes;
}

/** Returns the bytes for all TCP sockets (proc(5), `sockstat`). */
function readAllSockets(): number {
  const [, pages] = /^TCP: .*\bmem (\d+)$/m.exec(readFileSync("/proc/net/sockstat", "utf8")) ?? [];
  return Number(pages) * pageBytes;
}
