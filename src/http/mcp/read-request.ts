// Lets tools read from the endpoint of a list, a record or the feed, as a client would with a GET.

import type { WireRequest } from "../../wire/request.ts";
import { emptyBody } from "../../wire/request-body.ts";
import { joinParts, partBytes, type ResponseBody, type WireResponse } from "../../wire/response.ts";
import type { AuthorizedView, RequestContext, RouteMatch } from "../request-context.ts";

interface ReadResponse {
  readonly body: string;
  /** Returns an empty string for a missing header. @param name as the endpoint writes it */
  header(name: string): string;
}

/**
 * Responds to a GET of another endpoint within a request. The rate limit, log and metrics only see the request itself.
 * @param match for a list, a record or the feed
 * @throws ProblemError as the endpoint does
 */
export async function read(
  context: RequestContext,
  authorized: AuthorizedView,
  { target, route, recordIdInPath }: RouteMatch,
): Promise<ReadResponse> {
  if (route?.kind !== "site") throw new Error(`a tool reads ${target.path}`);
  const inner = { ...context, request: readRequest(context.request), target, recordIdInPath, method: "GET" };
  try {
    return toReadResponse(await route.respond(inner, authorized));
  } finally {
    // The endpoint may have authorized the inner request again.
    const { site, key, sandbox, keyRejection, neededRights, keyExpires } = inner;
    Object.assign(context, { site, key, sandbox, keyRejection, neededRights, keyExpires });
  }
}

/** Keeps the client, host and key, but not the body or any headers that would change the response. */
function readRequest(request: WireRequest): WireRequest {
  return {
    method: "GET",
    target: request.target,
    address: request.address,
    headers: request.headers.without("accept-encoding").without("if-match").without("if-none-match"),
    get isAbandoned() {
      return request.isAbandoned;
    },
    onClientEnd: (callback) => request.onClientEnd(callback),
    receivedBody: emptyBody,
    readBody: async () => emptyBody,
    discardBody: () => {},
  };
}

function toReadResponse({ headers, body }: WireResponse): ReadResponse {
  const section = joinParts(headers);
  return {
    body: toText(body),
    header: (name) => new RegExp(`^${name}: (.*)$`, "m").exec(section)?.[1] ?? "",
  };
}

function toText(body: ResponseBody): string {
  if (typeof body === "string") return body;
  if (body === null) return "";
  if ("memory" in body) return body.memory.toString("utf8", body.start);
  return Buffer.concat(body instanceof Uint8Array ? [body] : body.map(partBytes)).toString();
}
