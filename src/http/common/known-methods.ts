import { ProblemError } from "../../model/errors.ts";
import type { WireRequest } from "../../wire/request.ts";

/** The IANA HTTP Method Registry, and QUERY. CONNECT is only for proxies, and the registry's `*` isn't a method. */
const known: ReadonlySet<string> = new Set(
  `ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY DELETE GET HEAD LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR
  MKCOL MKREDIRECTREF MKWORKSPACE MOVE OPTIONS ORDERPATCH PATCH POST PRI PROPFIND PROPPATCH PUT QUERY REBIND REPORT SEARCH
  TRACE UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL`.split(/\s+/),
);

/** @throws ProblemError `not-implemented` for an unknown method (contract section 3, RFC 9110 section 9.1) */
export function requireKnownMethod({ method }: WireRequest): void {
  if (known.has(method)) return;
  throw new ProblemError(
    "not-implemented",
    method === "CONNECT"
      ? "this server isn't a proxy, so it can't CONNECT you to another one"
      : `unknown method \`${method.slice(0, 40)}\`; methods are case-sensitive`,
  );
}

/** Returns a method's label in metrics. Clients can invent methods, so all unknown ones share a label. */
export function methodLabel(method: string): string {
  return known.has(method) ? method : "other";
}
