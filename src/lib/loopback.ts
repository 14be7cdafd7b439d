import { isIPv4 } from "node:net";

/** Whether only this machine can reach the host: `localhost`, an address of 127.0.0.0/8, or ::1 with or without brackets. */
export function isLoopback(host: string): boolean {
  return ["localhost", "::1", "[::1]"].includes(host) || (isIPv4(host) && host.startsWith("127."));
}
