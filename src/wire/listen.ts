// Listens on a port for HTTP/1.1 (RFC 9112): opens the socket, gives each client a `Connection`, and stops.
//
// A listening socket can hand its port to another, in this process (for a new certificate) or another one (a successor). The new socket is opened first
// (`reusePort`). Then, on Linux, the old one ignores new clients, which try again and reach the new one, and closes once the handshakes in progress are done.
// So no client is reset.
//
// On Linux, socket options also limit the kernel's buffers, which no budget in this process counts.

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

/** A certificate chain and its private key, both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Undefined for plain HTTP. */
  readonly tls?: Certificate | undefined;
  /** Whether other processes can listen on this port too. */
  readonly reusePort: boolean;
  /** A client that neither sends nor reads for this long times out. */
  readonly idleTimeoutSeconds: number;
  /** Maximum size of a request body, unless the handler sets another (`WireRequest.readBody`). */
  readonly maxBodyBytes: number;
  /** Per connection, how much the kernel receives before we read it (on Linux). Default: up to the kernel, as much as 32 MiB. */
  readonly receiveBufferBytes?: number;
  /** How much the kernel accepts before it can send it (on Linux). Default: up to the kernel, as much as 4 MiB per connection. */
  readonly unsentLimits?: UnsentLimits;
  /** Maximum open connections. At the limit, each new one pushes out another or is closed (connection-places.ts). */
  readonly connections: number;
  /** Maximum bytes for all connections together. Over it, connections end, starting with the longest without progress. */
  readonly memory: number;
}

export interface ListenerUsage {
  readonly connections: number;
  /** Memory used by the connections. */
  readonly bytes: number;
}

export interface Listener {
  readonly url: string;
  readonly port: number;
  usage(): ListenerUsage;
  /** Uses another certificate for new connections. Needs `reusePort`. @throws Error if it's invalid; the previous one stays in use */
  replaceCertificate(certificate: Certificate): Promise<void>;
  /**
   * Accepts no more connections, and ends each one after its next response, or after `idleSeconds` if it's idle. `seconds` after those, ends the rest, even
   * during a request. Resolves once all have ended.
   * @param idleSeconds more than 0 only if a successor listens on the same port
   */
  stop(seconds: number, idleSeconds?: number): Promise<void>;
}

/** @throws Error if the port is taken or the certificate is invalid */
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
      // Idle time means that there's a successor.
      await (idleSeconds > 0 ? leaveToSuccessor(socket) : closeSocket(socket));
      await stopConnections(connections, seconds, idleSeconds);
      clearInterval(timer);
    },
  };
}

/** Spends 1 ms per tick; 18,000 connections take 20 ms. */
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
  // The runtime has this property, but its types don't.
  return (listening as { readonly fd?: number }).fd;
}

/** How long we wait for TCP handshakes in progress. A client ignored in this time tries again after a second, when the socket has closed. */
export const handshakeMs = 100;

/** Closes a listening socket once the TCP handshakes in progress are done. New clients reach the other socket on the port. */
async function leaveToSuccessor(socket: TCPSocketListener<Connection>): Promise<void> {
  const fd = descriptorOf(socket);
  if (fd !== undefined && ignoreNewClients(fd)) await Bun.sleep(handshakeMs);
  await closeSocket(socket);
}

/**
 * Closes a listening socket. The kernel resets connections that are still in its accept queue, so first the runtime gets a whole tick to accept them: one
 * immediate runs before it polls its sockets, the next right after.
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
    // With this callback, the runtime calls `open` before the TLS handshake, so a client that stalls during it times out.
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

/** Idle connections live at least this long after the stop, so that requests already on their way get a response. */
const arrivalGraceMs = 10;

/**
 * Each connection ends by itself after its next response. We end idle ones after `idleSeconds` (at least 10 ms), and all others `seconds` later.
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

/** Waits until `isDone` returns true or time is up. */
async function pollUntil(isDone: () => boolean, milliseconds: number): Promise<void> {
  const deadline = performance.now() + milliseconds;
  while (!isDone() && performance.now() < deadline) await Bun.sleep(10);
}

function every(connections: Iterable<PlacedConnection>, isTrue: (connection: PlacedConnection) => boolean): boolean {
  for (const connection of connections) if (!isTrue(connection)) return false;
  return true;
}
