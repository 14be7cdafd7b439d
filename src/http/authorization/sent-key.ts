import { isKey, visiblePrefix } from "../../model/api-key.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import type { RequestContext } from "../request-context.ts";

const bearer = /^bearer +(\S+)$/i;

/**
 * Returns the unchecked key in `X-API-AUTH`; null if there is none. Routes with `acceptsBearer` also take a bearer token (RFC 6750 section 2.1), because most
 * agents can't send anything else. Two different keys yield an empty string, which is never valid.
 */
export function sentKey({ request: { headers }, route }: Pick<RequestContext, "request" | "route">): string | null {
  const key = headers.get("x-api-auth");
  if (!route?.acceptsBearer) return key;
  const token = bearerToken(headers);
  if (key === null || token === null) return key ?? token;
  return key === token ? key : "";
}

/** Null if `Authorization` has another form. */
export function bearerToken(headers: HeaderFields): string | null {
  return bearer.exec(headers.get("authorization") ?? "")?.[1] ?? null;
}

/** Returns the visible prefix of the request's key; undefined if what was sent isn't a key, since it may be some other secret. */
export function sentPrefix(context: RequestContext): string | undefined {
  if (context.key) return context.key.prefix;
  const sent = sentKey(context);
  return sent !== null && isKey(sent) ? visiblePrefix(sent) : undefined;
}
