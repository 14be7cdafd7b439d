import { ptr } from "bun:ffi";
import { cFunctions } from "../lib/c-library.ts";

/** Of setsockopt(2) on Linux. */
const [socketLevel, receiveBufferSize] = [1, 8];

/**
 * Bounds what the system receives of each connection before this process reads it. Without it, Linux lets a client send up to 32 MiB ahead of
 * its responses, and the event loop reads or drops all of that at once when the client goes away.
 * @param listening the file descriptor of the listening socket, whose connections inherit the bound
 * @param bytes Linux takes twice as much for its own records
 */
export function boundReceiveBuffer(listening: number, bytes: number): void {
  const types = { args: ["int", "int", "int", "ptr", "u32"], returns: "int" } as const;
  const size = new Int32Array([bytes]);
  cFunctions({ setsockopt: types })?.setsockopt(listening, socketLevel, receiveBufferSize, ptr(size), size.byteLength);
}
