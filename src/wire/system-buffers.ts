// What the system keeps of each connection outside this process, on Linux. The connections of a listening socket inherit its options.

import { ptr } from "bun:ffi";
import { cFunctions } from "../lib/c-library.ts";

/** Of setsockopt(2) on Linux. */
const [socketLevel, receiveBufferSize] = [1, 8];
const [tcpLevel, notSentLowWater] = [6, 25];

/**
 * Bounds what the system receives of each connection before this process reads it. Without it, Linux lets a client send up to 32 MiB ahead of
 * its responses, and the event loop reads or drops all of that at once when the client goes away.
 * @param listening the file descriptor of the listening socket
 * @param bytes Linux takes twice as much for its own records
 */
export function boundReceived(listening: number, bytes: number): void {
  setOption(listening, socketLevel, receiveBufferSize, bytes);
}

/**
 * Bounds what the system accepts of each connection and cannot send yet, because its client does not read. What is under way to a client
 * that reads is not part of it, so a distant one gets its bytes as fast as without the bound. Without it, Linux keeps up to 4 MiB for each
 * client that does not read, which no budget of this process counts, and the event loop frees all of that when the connection ends.
 * @param listening the file descriptor of the listening socket
 */
export function boundUnsent(listening: number, bytes: number): void {
  setOption(listening, tcpLevel, notSentLowWater, bytes);
}

function setOption(socket: number, level: number, option: number, value: number): void {
  const types = { args: ["int", "int", "int", "ptr", "u32"], returns: "int" } as const;
  const data = new Int32Array([value]);
  cFunctions({ setsockopt: types })?.setsockopt(socket, level, option, ptr(data), data.byteLength);
}
