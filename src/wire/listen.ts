import type { SocketHandler, TCPSocketListener } from "bun";
import { Connection, type ConnectionContext } from "./connection.ts";
import { ConnectionMemory } from "./memory.ts";
import { Places } from "./places.ts";
import { refuseConnections } from "./refuse-connections.ts";
import type { Handler } from "./request.ts";
import { boundReceived, boundUnsent } from "./system-buffers.ts";
import { Turns } from "./turns.ts";

/** A certificate chain and its private key, as texts in PEM form. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Undefined for HTTP. */
  readonly tls?: Certificate | undefined;
  /** Whether several processes can listen on this port. */
  readonly reusePort: boolean;
  /** Seconds after which a client that neither sends nor reads times out. */
  readonly idleTimeout: number;
  /** The largest request body. */
  readonly maxBodyBytes: number;
  /** Bytes that the system receives of a connection before they are read, on Linux. Undefined for as many as it likes, up to 32 MiB. */
  readonly receiveBuffer?: number;
  /** Bytes that the system accepts for a connection and cannot send yet, on Linux. Undefined for as many as it likes, up to 4 MiB. */
  readonly unsent?: number;
  /** The most connections at once. At this limit, a new one takes the place of another if one can make room (places.ts). Otherwise it is closed. */
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
  /** Uses another certificate for new connections. Needs `reusePort`. @throws Error when it is invalid; the previous one stays in use */
  replaceCertificate(certificate: Certificate): Promise<void>;
  /**
   * Accepts no new connections, and ends each of the others with its next response. Idle ones end after `idleSeconds`, for a listener that another one
   * on the port succeeds. Resolves when all have ended, at most `seconds` after that.
   */
  stop(seconds: number, idleSeconds?: number): Promise<void>;
}

/**
 * Speaks HTTP/1.1 (RFC 9112) on a port.
 * @throws Error when the port is taken, or the certificate is invalid
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
    for (const connection of connections) connection.sweep();
  }, 1000);
  timer.unref();
  return {
    url: `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`,
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
      // Idle connections get time only if there is a successor.
      await (idleSeconds > 0 ? leaveToSuccessor(socket) : closeSocket(socket));
      await stopConnections(connections, seconds, idleSeconds);
      clearInterval(timer);
    },
  };
}

function openSocket(
  { host, port, tls, reusePort, receiveBuffer, unsent }: ListenOptions,
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
  if (fd !== undefined && receiveBuffer !== undefined) boundReceived(fd, receiveBuffer);
  if (fd !== undefined && unsent !== undefined) boundUnsent(fd, unsent);
  return listening;
}

function descriptorOf(listening: TCPSocketListener<Connection>): number | undefined {
  // The types do not have it.
  return (listening as { readonly fd?: number }).fd;
}

/** Milliseconds in which handshakes end that are under way. Clients who have been ignored meanwhile try again after a second, not before. */
const handshakeTime = 100;

/** Closes a listening socket when the clients that have begun to connect to it have done so. New ones go to another socket on the port. */
async function leaveToSuccessor(socket: TCPSocketListener<Connection>): Promise<void> {
  const fd = descriptorOf(socket);
  if (fd !== undefined && refuseConnections(fd)) await Bun.sleep(handshakeTime);
  await closeSocket(socket);
}

/**
 * Closes a listening socket. The system resets what waits in its accept queue. So all of it is accepted first, in a whole turn of the event
 * loop: the first immediate comes before the runtime looks for input, the second one right after.
 */
async function closeSocket(socket: TCPSocketListener<Connection>): Promise<void> {
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  socket.stop();
}

function createContext(
  { connections, memory, maxBodyBytes, idleTimeout }: ListenOptions,
  handler: Handler,
): ConnectionContext {
  return {
    handler,
    turns: new Turns(),
    memory: new ConnectionMemory(memory, () => handler.note("connection cut off")),
    places: new Places(connections, handler),
    maxBodyBytes,
    idleTimeout,
    now: 0,
    isStopping: false,
  };
}

/** Gives each new connection a place, and passes its events on. */
function toSocketHandler(context: ConnectionContext): SocketHandler<Connection> {
  const { places } = context;
  return {
    open(socket) {
      const hasPlace = places.makeRoom(context.now);
      socket.data = new Connection(socket, context);
      if (hasPlace) places.add(socket.data);
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
      places.delete(socket.data);
      socket.data.closed();
    },
    error: (socket, error) => socket.data.fail(error),
  };
}

/** Milliseconds in which requests that have just been sent arrive. They get a response, with `Connection: close`. */
const arrivalTime = 10;

/** Ends each connection after its next response, idle ones after `idleSeconds`, and after `seconds` more the rest. */
async function stopConnections(
  connections: ReadonlySet<Connection>,
  seconds: number,
  idleSeconds: number,
): Promise<void> {
  await waitUntil(() => every(connections, ({ isDone }) => isDone), Math.max(arrivalTime, idleSeconds * 1000));
  for (const connection of connections) connection.stop();
  await waitUntil(() => every(connections, ({ isBusy }) => !isBusy), seconds * 1000);
  for (const connection of connections) connection.end();
}

/** Waits until `isDone`, for at most so many milliseconds. */
async function waitUntil(isDone: () => boolean, milliseconds: number): Promise<void> {
  const deadline = performance.now() + milliseconds;
  while (!isDone() && performance.now() < deadline) await Bun.sleep(10);
}

function every(connections: Iterable<Connection>, isTrue: (connection: Connection) => boolean): boolean {
  for (const connection of connections) if (!isTrue(connection)) return false;
  return true;
}
