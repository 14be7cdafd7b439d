import type { RequestHeaders } from "../wire/request-headers.ts";

/** Whether the client names this content coding, without a weight below 1 (RFC 9110 section 12.5.3). */
export function acceptsCoding(headers: RequestHeaders, coding: string): boolean {
  return new RegExp(`\\b${coding}\\b(?!\\s*;\\s*q=0)`).test(headers.get("accept-encoding") ?? "");
}
