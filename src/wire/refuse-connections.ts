// A listening socket that another one on the same port replaces. When it is closed, the system resets what has reached it and is not accepted:
// connections in its accept queue, and those whose handshake is still under way. So before that, it gets no new ones.

import { ptr } from "bun:ffi";
import { cFunctions } from "../lib/c-library.ts";

/** Of setsockopt(2) on Linux. */
const [socketLevel, attachFilter] = [1, 26];

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
export function refuseConnections(listening: number): boolean {
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
