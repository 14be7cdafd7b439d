// A TCP proxy that changes what clients send.

import { connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  readonly port: number;
  /** How often clients have sent `word` to the server, before any change. */
  count(word: string): number;
  /** Sends new connections to another server from now on. */
  lead(target: number): void;
  stop(): Promise<void>;
}

/** @param words two of the same length, each replaced by the other */
export async function startTcpProxy(target: number, words: Readonly<Record<string, string>> = {}): Promise<TcpProxy> {
  let port = target;
  const counts = new Map<string, number>();
  const sockets = new Set<Socket>();
  const change = (part: Buffer) => {
    let text = part.toString("latin1");
    for (const [word, other] of Object.entries(words)) {
      counts.set(word, (counts.get(word) ?? 0) + text.split(word).length - 1);
      text = text.replaceAll(word, other);
    }
    return Buffer.from(text, "latin1");
  };
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on("data", (part: Buffer) => other.write(one === client ? change(part) : part));
      one.on("error", () => {});
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    count: (word) => counts.get(word) ?? 0,
    lead: (other) => {
      port = other;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
