// The API key that a request has sent: in `X-API-AUTH`; at an endpoint for agents also as a bearer token, because most agents can send only that.

import { isKey, visiblePrefix } from "../../model/api-key.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import type { RequestContext } from "../request-context.ts";

const bearer = /^bearer +(\S+)$/i;

/**
 * Returns the API key of a request as it was sent, not checked yet; null if the request has none. A bearer token (RFC 6750 section 2.1) counts only at
 * a route with `acceptsBearer`. If two different keys were sent there, returns an empty text, which is never valid.
 */
export function sentKey({ request: { headers }, route }: Pick<RequestContext, "request" | "route">): string | null {
  const key = headers.get("x-api-auth");
  if (!route?.acceptsBearer) return key;
  const token = bearerToken(headers);
  if (key === null || token === null) return key ?? token;
  return key === token ? key : "";
}

/** Returns the bearer token in `Authorization`; null if it has another form. */
export function bearerToken(headers: HeaderFields): string | null {
  return bearer.exec(headers.get("authorization") ?? "")?.[1] ?? null;
}

/** Returns the visible prefix of the request's key; undefined if the header does not contain a key, because it may be another secret. */
export function sentPrefix(context: RequestContext): string | undefined {
  if (context.key) return context.key.prefix;
  const sent = sentKey(context);
  return sent !== null && isKey(sent) ? visiblePrefix(sent) : undefined;
}
