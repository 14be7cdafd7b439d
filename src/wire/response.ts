// Responses as the handler makes them, and whether the connection persists after them (RFC 9112 section 9).
// encode-response.ts makes the bytes to send.

import type { RequestHeader } from "./request-header.ts";
import type { ResponseBody } from "./response-body.ts";
import type { HeaderParts } from "./response-header.ts";

export interface WireResponse {
  readonly status: number;
  /** Header fields, made by `toHeaderLines`, without `Date`, `Content-Length` and `Connection`, which encode-response.ts adds. */
  readonly headers: HeaderParts;
  readonly body: ResponseBody;
}

/** The properties of a response that depend on the connection and the request. */
export interface ResponseFraming {
  /** Whether the body is left out, as in the response to HEAD (RFC 9110 section 9.3.2). */
  readonly omitsBody: boolean;
  /** The value of `Connection`; undefined if the response has no such field. */
  readonly connection: "close" | "keep-alive" | undefined;
}

/**
 * Returns the framing of the response to a request. A connection of HTTP/1.1 persists, a connection of HTTP/1.0 ends, unless the client asks for
 * the opposite (RFC 9112 section 9.3). It always ends after a CONNECT: what follows was meant for a tunnel (RFC 9110 section 9.3.6).
 * @param isLast whether the connection must end with this response, whatever the client asks for
 */
export function toResponseFraming({ method, isHttp10, section }: RequestHeader, isLast: boolean): ResponseFraming {
  const { keepsAlive = !isHttp10 } = section.framing;
  const omitsBody = method === "HEAD";
  if (!keepsAlive || isLast || method === "CONNECT") return { omitsBody, connection: "close" };
  if (isHttp10) return { omitsBody, connection: "keep-alive" };
  return omitsBody ? persistentWithoutBody : persistent;
}

const persistent: ResponseFraming = { omitsBody: false, connection: undefined };
const persistentWithoutBody: ResponseFraming = { omitsBody: true, connection: undefined };
