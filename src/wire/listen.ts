import { readFileSync } from "node:fs";
import { Connection, type ConnectionContext } from "./connection.ts";
import { ConnectionMemory } from "./memory.ts";
import { Queue } from "./queue.ts";
import type { Handler } from "./request.ts";
import { Turns } from "./turns.ts";

export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Files in PEM form. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Lets several processes listen on one port. */
  readonly reusePort: boolean;
  /** Seconds after which a client that neither sends nor reads is given up. */
  readonly idleTimeout: number;
  /** Most bytes of a request body. */
  readonly maxBodyBytes: number;
  /** Most connections at once. At the limit, a new one takes the place of the one that has been idle longest, or else is closed. */
  readonly connections: number;
  /** Most bytes that all connections together make the server keep. Beyond that, those without progress for the longest time are ended. */
  readonly memory: number;
}

export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Takes no new connection, and returns when what is under way is answered, or after `seconds`. */
  stop(seconds: number): Promise<void>;
}

/** Speaks HTTP/1.1 (RFC 9112) on a port. Throws when it is taken, or when a file cannot be read or holds no certificate. */
export function listen(options: ListenOptions, handler: Handler): Listener {
  const { host, idleTimeout, maxBodyBytes } = options;
  const memory = new ConnectionMemory(options.memory, () => handler.note("connection cut off"));
  const context: ConnectionContext = {
    handler,
    turns: new Turns(),
    memory,
    idle: new Queue(),
    maxBodyBytes,
    idleTimeout,
    now: 0,
    isStopping: false,
  };
  const connections = new Set<Connection>();
  const listener = Bun.listen<Connection>({
    hostname: host,
    port: options.port,
    ...(options.tls ? { tls: { cert: readFileSync(options.tls.cert), key: readFileSync(options.tls.key) } } : {}),
    ...(options.reusePort ? { reusePort: true } : {}),
    allowHalfOpen: true,
    socket: {
      open(socket) {
        if (connections.size >= options.connections) makeRoom(context);
        socket.data = new Connection(socket, context);
        if (connections.size < options.connections) connections.add(socket.data);
        else socket.data.end();
      },
      // Makes `open` come before the handshake, so that one that stalls is ended like any other.
      handshake(_socket, isDone, error) {
        if (!isDone && error && (error as NodeJS.ErrnoException).code !== "ECONNRESET") {
          handler.note("TLS handshake failed", error.message);
        }
      },
      data: (socket, bytes) => socket.data.receive(bytes),
      drain: (socket) => socket.data.drain(),
      end: (socket) => socket.data.clientEnd(),
      close(socket) {
        connections.delete(socket.data);
        socket.data.closed();
      },
      error: (socket, error) => socket.data.fail(error),
    },
  });
  const timer = setInterval(() => {
    context.now++;
    for (const connection of connections) connection.sweep();
  }, 1000);
  timer.unref();
  return {
    url: `${options.tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${listener.port}`,
    port: listener.port,
    async stop(seconds) {
      context.isStopping = true;
      listener.stop();
      // Who has just sent a request is answered, and told that it was the last one.
      await Bun.sleep(10);
      for (const connection of connections) connection.stop();
      const deadline = performance.now() + seconds * 1000;
      while (isBusy(connections) && performance.now() < deadline) await Bun.sleep(10);
      clearInterval(timer);
      for (const connection of connections) connection.end();
    },
  };
}

/** Ends the connection that has been idle longest, if one is. */
function makeRoom({ handler, idle }: ConnectionContext): void {
  const longest = idle.first;
  longest?.member.end();
  handler.note(longest ? "idle connection ended" : "connection turned away");
}

function isBusy(connections: Iterable<Connection>): boolean {
  for (const connection of connections) if (connection.isBusy) return true;
  return false;
}
