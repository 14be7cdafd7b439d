// The methods that the server knows, on both listeners (contract section 3).

import { ProblemError } from "../../model/errors.ts";
import type { WireRequest } from "../../wire/request.ts";

/** The methods of the IANA HTTP Method Registry, and QUERY. CONNECT is only for proxies. (The registry's `*` is reserved and not a method.) */
const known: ReadonlySet<string> = new Set(
  `ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY DELETE GET HEAD LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR
  MKCOL MKREDIRECTREF MKWORKSPACE MOVE OPTIONS ORDERPATCH PATCH POST PRI PROPFIND PROPPATCH PUT QUERY REBIND REPORT SEARCH
  TRACE UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL`.split(/\s+/),
);

/** Requires a known method. @throws ProblemError `not-implemented` for any other (RFC 9110 section 9.1) */
export function requireKnownMethod({ method }: WireRequest): void {
  if (known.has(method)) return;
  throw new ProblemError(
    "not-implemented",
    method === "CONNECT"
      ? "this server isn't a proxy, so it can't CONNECT you to another one"
      : `there is no method \`${method.slice(0, 40)}\`; methods are case-sensitive`,
  );
}

/** Returns the label of a method in the metrics. Clients can invent methods, so all methods that the server does not know share a label. */
export function methodLabel(method: string): string {
  return known.has(method) ? method : "other";
}
