// Listens on a port for HTTP/1.1 (RFC 9112): opens the socket, gives each client a `Connection`, and stops.
//
// A listening socket can hand its port over to another one, in this process (a new certificate) or in another process (a successor). The new
// socket is opened first (`reusePort`). Then, on Linux, the old socket ignores new clients, which try again and reach the new one, and it closes
// when the handshakes in progress have ended. So no client is reset.
//
// On Linux, socket options limit the buffers of the kernel too, because no budget of this process counts them.

import type { SocketHandler, TCPSocketListener } from "bun";
import { toUrlHost } from "../lib/networks.ts";
import { tickBudgetMs } from "../lib/tick-budgets.ts";
import { Connection } from "./connection.ts";
import { ConnectionMemoryBudget } from "./connection-memory.ts";
import { ConnectionPlaces, type PlacedConnection } from "./connection-places.ts";
import type { Handler } from "./request.ts";
import type { ConnectionContext } from "./request-loop.ts";
import { RoundRobin } from "./round-robin.ts";
import { ignoreNewClients, limitReceiveBuffer, limitUnsentBytes } from "./socket-options.ts";
import { UnsentBudget, type UnsentLimits } from "./unsent-budget.ts";

/** A certificate chain and its private key, as texts in PEM form. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface ListenOptions {
  readonly host: string;
  /** The port; 0 picks a free one. */
  readonly port: number;
  /** The certificate for HTTPS; undefined for HTTP. */
  readonly tls?: Certificate | undefined;
  /** Whether several processes can listen on this port. */
  readonly reusePort: boolean;
  /** Seconds after which a client that neither sends nor reads times out. */
  readonly idleTimeoutSeconds: number;
  /** Maximum size of a request body, in bytes, unless the handler sets another (`WireRequest.readBody`). */
  readonly maxBodyBytes: number;
  /** Maximum bytes of a connection that the kernel receives before this process reads them, on Linux. Undefined: the kernel decides, up to 32 MiB. */
  readonly receiveBufferBytes?: number;
  /** Limits of the bytes that the kernel accepts before it can send them, on Linux. Undefined: the kernel decides, up to 4 MiB per connection. */
  readonly unsentLimits?: UnsentLimits;
  /** Maximum number of connections. At this limit, another connection ends for each new one, or the new one is closed (connection-places.ts). */
  readonly connections: number;
  /** Maximum bytes of memory for all connections together. Above it, connections end, beginning with the one without progress for longest. */
  readonly memory: number;
}

export interface ListenerUsage {
  readonly connections: number;
  /** Bytes of memory that the connections use. */
  readonly bytes: number;
}

export interface Listener {
  readonly url: string;
  readonly port: number;
  usage(): ListenerUsage;
  /** Uses another certificate for new connections. Needs `reusePort`. @throws Error if the certificate is invalid; the previous one stays in use */
  replaceCertificate(certificate: Certificate): Promise<void>;
  /**
   * Stops: accepts no new connections, and ends each connection after its next response, idle connections after `idleSeconds`. Resolves when all
   * connections have ended. `seconds` after the idle ones, ends the rest, even during a request.
   * @param idleSeconds more than 0 only if a successor listens on the same port; by default 0
   */
  stop(seconds: number, idleSeconds?: number): Promise<void>;
}

/**
 * Listens on a port and passes the requests to `handler`.
 * @throws Error if the port is taken or the certificate is invalid
 */
export function listen(options: ListenOptions, handler: Handler): Listener {
  const { host, tls } = options;
  const context = createContext(options, handler);
  const { connections } = context.places;
  const socketHandler = toSocketHandler(context);
  let socket = openSocket(options, socketHandler);
  const { port } = socket;
  const timer = setInterval(() => {
    context.now++;
    checkTimeouts(connections.values());
  }, 1000);
  timer.unref();
  return {
    url: `${tls ? "https" : "http"}://${toUrlHost(host)}:${port}`,
    port,
    usage: () => ({ connections: connections.size, bytes: context.memory.bytes }),
    async replaceCertificate(certificate) {
      if (context.isStopping) return;
      const previous = socket;
      socket = openSocket({ ...options, port, tls: certificate }, socketHandler);
      await leaveToSuccessor(previous);
    },
    async stop(seconds, idleSeconds = 0) {
      context.isStopping = true;
      // `idleSeconds` is more than 0 only if there is a successor.
      await (idleSeconds > 0 ? leaveToSuccessor(socket) : closeSocket(socket));
      await stopConnections(connections, seconds, idleSeconds);
      clearInterval(timer);
    },
  };
}

/** Checks the timeouts of `connections`, 1 ms per tick: for 18,000 connections, this takes 20 ms. */
function checkTimeouts(connections: Iterator<PlacedConnection>): void {
  const end = performance.now() + tickBudgetMs.connections;
  for (let next = connections.next(); !next.done; next = connections.next()) {
    next.value.checkTimeout();
    if (performance.now() >= end) return void setImmediate(() => checkTimeouts(connections));
  }
}

function openSocket(
  { host, port, tls, reusePort, receiveBufferBytes, unsentLimits }: ListenOptions,
  socket: SocketHandler<Connection>,
): TCPSocketListener<Connection> {
  const listening = Bun.listen<Connection>({
    hostname: host,
    port,
    ...(tls ? { tls } : {}),
    ...(reusePort ? { reusePort } : {}),
    allowHalfOpen: true,
    socket,
  });
  const fd = descriptorOf(listening);
  if (fd !== undefined && receiveBufferBytes !== undefined) limitReceiveBuffer(fd, receiveBufferBytes);
  if (fd !== undefined && unsentLimits !== undefined) limitUnsentBytes(fd, unsentLimits.small);
  return listening;
}

function descriptorOf(listening: TCPSocketListener<Connection>): number | undefined {
  // The runtime has this property, but its types do not.
  return (listening as { readonly fd?: number }).fd;
}

/**
 * Milliseconds to wait for TCP handshakes in progress. A client whose first packet is ignored in this time tries again after a second, when the
 * socket is closed.
 */
export const handshakeMs = 100;

/** Closes a listening socket after the TCP handshakes in progress. New clients reach another socket on the port. */
async function leaveToSuccessor(socket: TCPSocketListener<Connection>): Promise<void> {
  const fd = descriptorOf(socket);
  if (fd !== undefined && ignoreNewClients(fd)) await Bun.sleep(handshakeMs);
  await closeSocket(socket);
}

/**
 * Closes a listening socket. The kernel resets connections that still wait in the socket's accept queue. So first lets the runtime accept all of
 * them, in one whole tick of the event loop. The first immediate runs before the runtime polls its sockets, the second one right after the poll.
 */
async function closeSocket(socket: TCPSocketListener<Connection>): Promise<void> {
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  socket.stop();
}

function createContext(
  { connections, memory, maxBodyBytes, idleTimeoutSeconds, unsentLimits }: ListenOptions,
  handler: Handler,
): ConnectionContext {
  return {
    handler,
    roundRobin: new RoundRobin(),
    memory: new ConnectionMemoryBudget(memory, () => handler.logIncident("connection cut off")),
    places: new ConnectionPlaces(connections, handler),
    unsent: unsentLimits && new UnsentBudget(unsentLimits),
    maxBodyBytes,
    idleTimeoutSeconds,
    now: 0,
    isStopping: false,
  };
}

/** Returns the socket callbacks: they make room for each new connection, and pass its events to its `Connection`. */
function toSocketHandler(context: ConnectionContext): SocketHandler<Connection> {
  const { places } = context;
  return {
    open(socket) {
      const hasPlace = places.makeRoom(context.now);
      socket.data = new Connection(socket, context);
      if (!hasPlace) return socket.data.endNow();
      places.add(socket.data);
      context.unsent?.limitOpened(socket, places.connections.size);
    },
    // Because this callback exists, the runtime calls `open` before the TLS handshake, so that a client that stalls in the handshake times out.
    handshake(_socket, isDone, error) {
      if (!isDone && error && (error as NodeJS.ErrnoException).code !== "ECONNRESET") {
        context.handler.logIncident("TLS handshake failed", error.message);
      }
    },
    data: (socket, bytes) => socket.data.receive(bytes),
    drain: (socket) => socket.data.onWritable(),
    end: (socket) => socket.data.onPeerEnd(),
    close(socket) {
      places.delete(socket.data);
      socket.data.onClosed();
    },
    error: (socket, error) => socket.data.endAfterBug(error),
  };
}

/** Minimum milliseconds between the stop and the end of idle connections. Requests that were just sent arrive in this time and get a response. */
const arrivalGraceMs = 10;

/**
 * Ends all connections. Each ends by itself after its next response; idle ones are ended after `idleSeconds` (at least 10 ms), and all others
 * `seconds` later.
 */
async function stopConnections(
  connections: ReadonlySet<PlacedConnection>,
  seconds: number,
  idleSeconds: number,
): Promise<void> {
  await pollUntil(() => every(connections, ({ isDone }) => isDone), Math.max(arrivalGraceMs, idleSeconds * 1000));
  for (const connection of connections) connection.endWhenIdle();
  await pollUntil(() => every(connections, ({ isBusy }) => !isBusy), seconds * 1000);
  for (const connection of connections) connection.endNow();
}

/** Waits until `isDone` returns true, which it checks every 10 ms, or until the time is over. */
async function pollUntil(isDone: () => boolean, milliseconds: number): Promise<void> {
  const deadline = performance.now() + milliseconds;
  while (!isDone() && performance.now() < deadline) await Bun.sleep(10);
}

function every(connections: Iterable<PlacedConnection>, isTrue: (connection: PlacedConnection) => boolean): boolean {
  for (const connection of connections) if (!isTrue(connection)) return false;
  return true;
}
