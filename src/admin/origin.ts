import { Refusal } from "../model/errors.ts";
import type { RequestHeaders } from "../wire/request-headers.ts";

/**
 * Checks that a request that changes something comes from a page of this listener (contract section 13). Browsers add `Origin` to every such
 * request, and no script can set it (Fetch section 3.2). A proxy that ends TLS changes the scheme, so only the hosts are compared.
 * @throws Refusal `forbidden`
 */
export function requireSameOrigin(headers: RequestHeaders): void {
  const origin = headers.get("origin");
  const url = origin === null ? null : URL.parse(origin);
  const host = URL.parse(`${url?.protocol}//${headers.get("host")}`)?.host;
  if (url && /^https?:$/.test(url.protocol) && url.origin === origin && url.host === host) return;
  throw new Refusal(
    "forbidden",
    "a change must come from a page of this address: send `Origin` with the scheme and host of the request; a proxy must pass on `Host`",
  );
}
