import { readFileSync } from "node:fs";
import type { SocketHandler } from "bun";
import { Connection, type ConnectionContext } from "./connection.ts";
import { ConnectionMemory } from "./memory.ts";
import { Queue } from "./queue.ts";
import type { Handler } from "./request.ts";
import { Turns } from "./turns.ts";

export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Paths of files in PEM format. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Whether several processes can listen on this port. */
  readonly reusePort: boolean;
  /** Seconds after which a client that neither sends nor reads times out. */
  readonly idleTimeout: number;
  /** The largest request body. */
  readonly maxBodyBytes: number;
  /** The most connections at once. At this limit, a new one replaces the one that has been idle longest. If none is idle, it is closed. */
  readonly connections: number;
  /** The most bytes of memory for all connections together. Above it, connections end, beginning with the one without progress for longest. */
  readonly memory: number;
}

export interface ListenerUsage {
  /** Open connections. */
  readonly connections: number;
  /** Bytes of memory that they use. */
  readonly bytes: number;
}

export interface Listener {
  readonly url: string;
  readonly port: number;
  usage(): ListenerUsage;
  /** Accepts no new connections. Resolves when all requests under way have their responses, or after `seconds`. */
  stop(seconds: number): Promise<void>;
}

/**
 * Speaks HTTP/1.1 (RFC 9112) on a port.
 * @throws Error when the port is taken, a file cannot be read, or a certificate is invalid
 */
export function listen(options: ListenOptions, handler: Handler): Listener {
  const { host, port, tls, reusePort } = options;
  const connections = new Set<Connection>();
  const context = createContext(options, handler);
  const listener = Bun.listen<Connection>({
    hostname: host,
    port,
    ...(tls ? { tls: { cert: readFileSync(tls.cert), key: readFileSync(tls.key) } } : {}),
    ...(reusePort ? { reusePort } : {}),
    allowHalfOpen: true,
    socket: toSocketHandler(connections, options.connections, context),
  });
  const timer = setInterval(() => {
    context.now++;
    for (const connection of connections) connection.sweep();
  }, 1000);
  timer.unref();
  return {
    url: `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${listener.port}`,
    port: listener.port,
    usage: () => ({ connections: connections.size, bytes: context.memory.bytes }),
    async stop(seconds) {
      context.isStopping = true;
      listener.stop();
      await stopConnections(connections, seconds);
      clearInterval(timer);
    },
  };
}

function createContext({ memory, maxBodyBytes, idleTimeout }: ListenOptions, handler: Handler): ConnectionContext {
  return {
    handler,
    turns: new Turns(),
    memory: new ConnectionMemory(memory, () => handler.note("connection cut off")),
    idle: new Queue(),
    maxBodyBytes,
    idleTimeout,
    now: 0,
    isStopping: false,
  };
}

/** Adds each new connection to `connections`, up to `limit`, and passes its events on. */
function toSocketHandler(
  connections: Set<Connection>,
  limit: number,
  context: ConnectionContext,
): SocketHandler<Connection> {
  return {
    open(socket) {
      if (connections.size >= limit) makeRoom(context);
      socket.data = new Connection(socket, context);
      if (connections.size < limit) connections.add(socket.data);
      else socket.data.end();
    },
    // With this handler, `open` comes before the TLS handshake, so that a client that stalls in the handshake times out.
    handshake(_socket, isDone, error) {
      if (!isDone && error && (error as NodeJS.ErrnoException).code !== "ECONNRESET") {
        context.handler.note("TLS handshake failed", error.message);
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
  };
}

/** Ends the connection that has been idle longest, if one is idle. */
function makeRoom({ handler, idle }: ConnectionContext): void {
  const { first } = idle;
  first?.member.end();
  handler.note(first ? "idle connection ended" : "connection turned away");
}

/** Ends each connection after its current request, and after `seconds` the rest. */
async function stopConnections(connections: ReadonlySet<Connection>, seconds: number): Promise<void> {
  // A client that has just sent a request still gets a response, with `Connection: close`.
  await Bun.sleep(10);
  for (const connection of connections) connection.stop();
  const deadline = performance.now() + seconds * 1000;
  while (isBusy(connections) && performance.now() < deadline) await Bun.sleep(10);
  for (const connection of connections) connection.end();
}

function isBusy(connections: Iterable<Connection>): boolean {
  for (const connection of connections) if (connection.isBusy) return true;
  return false;
}
