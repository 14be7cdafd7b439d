// Addresses of this machine.

import { isIPv4 } from "node:net";

/** Whether only this machine can reach the host: `localhost`, an address of 127.0.0.0/8, or ::1 with or without brackets. */
export function isLoopback(host: string): boolean {
  return ["localhost", "::1", "[::1]"].includes(host) || (isIPv4(host) && host.startsWith("127."));
}

/** The URL of a listener as a program on this machine can use it: an address that stands for all addresses is none to connect to. */
export function toReachable(url: string): string {
  return url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
}
