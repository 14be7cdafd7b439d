// Responses, and what follows them on their connection (RFC 9112 section 9).

import type { HeaderParts } from "./header-parts.ts";
import type { RequestHeader } from "./request-header.ts";
import type { ResponseBody } from "./response-body.ts";

export interface WireResponse {
  readonly status: number;
  /** Made by `toHeaderLines`, without `Date`, `Content-Length` and `Connection`, which the wire adds. */
  readonly headers: HeaderParts;
  readonly body: ResponseBody;
}

/** The properties of a response that depend on the connection and the request. */
export interface ResponseFraming {
  /** Whether the body is left out, as in the response to HEAD (RFC 9110 section 9.3.2). */
  readonly headOnly: boolean;
  /** The value of `Connection`; undefined for no such header. */
  readonly connection: "close" | "keep-alive" | undefined;
}

/**
 * RFC 9112 section 9.3: connections of HTTP/1.1 persist and those of HTTP/1.0 do not, unless the client asks for the other.
 * @param isLast whether the connection ends with this response, whatever the client asks for
 */
export function toResponseFraming({ method, isHttp10, section }: RequestHeader, isLast: boolean): ResponseFraming {
  const { keepsAlive = !isHttp10 } = section.framing;
  const headOnly = method === "HEAD";
  if (!keepsAlive || isLast) return { headOnly, connection: "close" };
  if (isHttp10) return { headOnly, connection: "keep-alive" };
  return headOnly ? headGoesOn : goesOn;
}

const goesOn: ResponseFraming = { headOnly: false, connection: undefined };
const headGoesOn: ResponseFraming = { headOnly: true, connection: undefined };
