// Measures the memory that the kernel uses for TCP sockets, on Linux.

import { readFileSync } from "node:fs";

/** Milliseconds between two readings. Each starts a process, which takes some milliseconds for a thousand sockets. */
const sampleMs = 200;
const pageBytes = 4096;

/** Bytes of the sockets of a server, and of all sockets of the machine. Clients on the same machine are in the latter. */
interface SocketMemory {
  readonly own: number;
  readonly all: number;
}

/** Reads repeatedly what the kernel uses for sockets, until `stop`. */
export class SocketSampler {
  readonly #port: string;
  readonly #before = readAllSockets();
  readonly #timer: NodeJS.Timeout;
  #peak: SocketMemory = { own: 0, all: 0 };

  /** @param url the address of the server */
  constructor(url: string) {
    this.#port = new URL(url).port;
    this.#timer = setInterval(() => this.#sample(), sampleMs);
  }

  /** Returns the highest readings. Those of all sockets count from the start on. */
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

/** Returns the bytes of the sockets at a local port (ss(8), `skmem`): received and not read, written and not acknowledged, and reserved. */
function readSocketsAt(port: string): number {
  const listed = Bun.spawnSync(["ss", "-tmnH", "sport", "=", `:${port}`]).stdout.toString();
  let bytes = 0;
  for (const [, received, reserved, written] of listed.matchAll(/skmem:\(r(\d+),.*?,f(\d+),w(\d+)/g))
    bytes += Number(received) + Number(reserved) + Number(written);
  return bytes;
}

/** Returns the bytes of all TCP sockets (proc(5), `sockstat`). */
function readAllSockets(): number {
  const [, pages] = /^TCP: .*\bmem (\d+)$/m.exec(readFileSync("/proc/net/sockstat", "utf8")) ?? [];
  return Number(pages) * pageBytes;
}
