import { ptr } from "bun:ffi";
import type { SocketHandler, TCPSocketListener } from "bun";
import { cFunctions } from "../lib/operating-system.ts";
import { Connection, type ConnectionContext } from "./connection.ts";
import { ConnectionMemory } from "./connection-memory.ts";
import { Places } from "./places.ts";
import type { Handler } from "./request.ts";
import { Turns } from "./round-robin.ts";

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

// What the system keeps of each connection outside this process, on Linux. The connections of a listening socket inherit its options.

/** Of setsockopt(2) on Linux. */
const [socketLevel, receiveBufferSize] = [1, 8];
const [tcpLevel, notSentLowWater] = [6, 25];

/**
 * Bounds what the system receives of each connection before this process reads it. Without it, Linux lets a client send up to 32 MiB ahead of
 * its responses, and the event loop reads or drops all of that at once when the client goes away.
 * @param listening the file descriptor of the listening socket
 * @param bytes Linux takes twice as much for its own records
 */
function boundReceived(listening: number, bytes: number): void {
  setOption(listening, socketLevel, receiveBufferSize, bytes);
}

/**
 * Bounds what the system accepts of each connection and cannot send yet, because its client does not read. What is under way to a client
 * that reads is not part of it, so a distant one gets its bytes as fast as without the bound. Without it, Linux keeps up to 4 MiB for each
 * client that does not read, which no budget of this process counts, and the event loop frees all of that when the connection ends.
 * @param listening the file descriptor of the listening socket
 */
function boundUnsent(listening: number, bytes: number): void {
  setOption(listening, tcpLevel, notSentLowWater, bytes);
}

function setOption(socket: number, level: number, option: number, value: number): void {
  const types = { args: ["int", "int", "int", "ptr", "u32"], returns: "int" } as const;
  const data = new Int32Array([value]);
  cFunctions({ setsockopt: types })?.setsockopt(socket, level, option, ptr(data), data.byteLength);
}

/** File descriptors for everything but client connections: the runtime, the database, and connections that are being closed. */
const reserved = 64;

/** How many file descriptors this process may have open at once (POSIX `RLIMIT_NOFILE`). The runtime has already raised it to the hard limit. */
export function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
  const limit = userLimits?.open_files?.soft;
  if (limit === "unlimited") return Number.MAX_SAFE_INTEGER;
  return typeof limit === "number" ? limit : 1024;
}

/** The maximum of `--connections` with this limit of file descriptors, and its default: nine tenths of the limit. */
export function connectionsWithin(descriptors: number): { readonly max: number; readonly byDefault: number } {
  const max = Math.max(1, descriptors - reserved);
  return { max, byDefault: Math.min(max, Math.max(1, Math.floor(descriptors * 0.9))) };
}

// A listening socket that another one on the same port replaces. When it is closed, the system resets what has reached it and is not accepted:
// connections in its accept queue, and those whose handshake is still under way. So before that, it gets no new ones.

/** Of setsockopt(2) on Linux. */
const attachFilter = 26;

/**
 * A socket filter, as instructions of classic BPF (linux/filter.h: code, jump if true, jump if false, constant). It drops the first packet of a
 * connection, which has the flag SYN without ACK in byte 13 of the TCP header (RFC 9293 section 3.1), and lets the rest of a handshake through.
 */
const dropFirstPackets: readonly (readonly [code: number, ifTrue: number, ifFalse: number, constant: number])[] = [
  [0x30, 0, 0, 13], // load the flags
  [0x54, 0, 0, 0x12], // of these, SYN and ACK
  [0x15, 0, 1, 0x02], // SYN alone?
  [0x06, 0, 0, 0], // drop
  [0x06, 0, 0, 0xffffffff], // take
];

/**
 * Lets a listening socket ignore clients that begin to connect, on Linux. They try again after a second, by themselves (RFC 6298 section 2), and
 * then reach another socket on the port if this one is closed.
 * @param listening the file descriptor of the listening socket
 * @returns whether the system does that
 */
function refuseConnections(listening: number): boolean {
  const instructions = Buffer.alloc(8 * dropFirstPackets.length);
  for (const [index, [code, ifTrue, ifFalse, constant]] of dropFirstPackets.entries()) {
    instructions.writeUInt16LE(code, 8 * index);
    instructions.writeUInt8(ifTrue, 8 * index + 2);
    instructions.writeUInt8(ifFalse, 8 * index + 3);
    instructions.writeUInt32LE(constant, 8 * index + 4);
  }
  // struct sock_fprog: the number of instructions, and where they are.
  const program = new BigUint64Array([BigInt(dropFirstPackets.length), BigInt(ptr(instructions))]);
  const types = { args: ["int", "int", "int", "ptr", "u32"], returns: "int" } as const;
  const { setsockopt } = cFunctions({ setsockopt: types }) ?? {};
  return setsockopt?.(listening, socketLevel, attachFilter, ptr(program), program.byteLength) === 0;
}
