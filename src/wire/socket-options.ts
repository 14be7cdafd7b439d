// Socket options on Linux: limits for the kernel's buffers, which connections inherit from the listening socket, and a filter that makes a listening socket
// ignore new clients.

import { ptr } from "bun:ffi";
import { once } from "../lib/concurrency.ts";
import { loadCFunctions } from "../lib/operating-system.ts";

/** For setsockopt(2) on Linux: SOL_SOCKET, SO_RCVBUF, SO_ATTACH_FILTER, and IPPROTO_TCP, TCP_NOTSENT_LOWAT. */
const [socketLevel, receiveBufferSize, attachFilter] = [1, 8, 26];
const [tcpLevel, notSentLowWater] = [6, 25];
/** For ioctl(2) on Linux: SIOCOUTQ (tcp(7)). */
const outputQueue = 0x5411;

const int = "int" as const;
const loadFunctions = once(() =>
  loadCFunctions({
    setsockopt: { args: [int, int, int, "ptr", "u32"], returns: int },
    ioctl: { args: [int, "u64", "ptr"], returns: int },
  }),
);

/**
 * Limits what the kernel receives from each connection before we read it. Otherwise Linux lets a client send up to 32 MiB ahead of its responses, and the event
 * loop reads or discards it all at once when the client disconnects.
 * @param listening the listening socket's file descriptor
 * @param bytes Linux doubles this for its own bookkeeping
 */
export function limitReceiveBuffer(listening: number, bytes: number): void {
  setOption(listening, socketLevel, receiveBufferSize, new Int32Array([bytes]));
}

/**
 * Limits what the kernel accepts from us before it can send it, for example because the client doesn't read. Bytes in transit don't count, so distant clients
 * aren't slower. Otherwise Linux buffers up to 4 MiB for each client that doesn't read, which no budget of ours counts, and the event loop frees it all when
 * the connection ends.
 * @param socket the file descriptor of the listening socket or of one connection
 * @param bytes the kernel completes a packet, so it accepts up to 64 KiB more
 * @returns whether the kernel accepted the option; always false on other systems
 */
export function limitUnsentBytes(socket: number, bytes: number): boolean {
  return setOption(socket, tcpLevel, notSentLowWater, new Int32Array([bytes]));
}

/** Returns how many of a connection's bytes the kernel holds because the other side hasn't acknowledged them; undefined on other systems. */
export function countUnacknowledgedBytes(socket: number): number | undefined {
  const bytes = new Int32Array(1);
  return loadFunctions()?.ioctl(socket, outputQueue, ptr(bytes)) === 0 ? bytes[0] : undefined;
}

// For a listening socket that another one on the same port replaces. When it closes, the kernel resets the connections in its accept queue and the handshakes
// in progress, so a filter first keeps new handshakes away.

/**
 * A socket filter in classic BPF (linux/filter.h: code, jump if true, jump if false, constant). It drops a connection's first packet, which has SYN without ACK
 * in byte 13 of the TCP header (RFC 9293 section 3.1), and lets the rest of a handshake through.
 */
const dropFirstPackets: readonly (readonly [code: number, ifTrue: number, ifFalse: number, constant: number])[] = [
  [0x30, 0, 0, 13], // load the flags
  [0x54, 0, 0, 0x12], // of these, SYN and ACK
  [0x15, 0, 1, 0x02], // SYN alone?
  [0x06, 0, 0, 0], // drop
  [0x06, 0, 0, 0xffffffff], // take
];

/**
 * Makes a listening socket ignore new clients' first packets. The client's kernel repeats the packet after a second (RFC 6298 section 2), and if this socket
 * has closed by then, it reaches the other one on the port.
 * @param listening the listening socket's file descriptor
 * @returns whether the kernel accepted the filter; always false except on Linux
 */
export function ignoreNewClients(listening: number): boolean {
  const instructions = Buffer.alloc(8 * dropFirstPackets.length);
  for (const [index, [code, ifTrue, ifFalse, constant]] of dropFirstPackets.entries()) {
    instructions.writeUInt16LE(code, 8 * index);
    instructions.writeUInt8(ifTrue, 8 * index + 2);
    instructions.writeUInt8(ifFalse, 8 * index + 3);
    instructions.writeUInt32LE(constant, 8 * index + 4);
  }
  // struct sock_fprog: the number of instructions and their address.
  const program = new BigUint64Array([BigInt(dropFirstPackets.length), BigInt(ptr(instructions))]);
  return setOption(listening, socketLevel, attachFilter, program);
}

function setOption(socket: number, level: number, option: number, value: Int32Array | BigUint64Array): boolean {
  return loadFunctions()?.setsockopt(socket, level, option, ptr(value), value.byteLength) === 0;
}
