// A listener without the rest of the program. Its responses describe the requests.

import { type Listener, type ListenOptions, listen } from "../../../src/wire/listen.ts";
import type { Handler, WireRequest } from "../../../src/wire/request.ts";
import { RequestError } from "../../../src/wire/request-error.ts";
import { toHeaderLines, type WireResponse } from "../../../src/wire/response.ts";

const defaults: ListenOptions = {
  host: "127.0.0.1",
  port: 0,
  reusePort: false,
  idleTimeoutSeconds: 60,
  maxBodyBytes: 1024 * 1024,
  connections: 10_000,
  memory: 256 * 1024 * 1024,
};

/** Listens on a free port. An error's body is its reason, or `fault`. */
export function startListener(
  respond: Handler["respond"],
  options: Partial<ListenOptions> = {},
  others: Partial<Handler> = {},
): Listener {
  const respondToFailure = (error: unknown) => text(error instanceof RequestError ? error.reason : "fault", 400);
  const handler = { respond, respondToFailure, logIncident: () => {}, ...others };
  return listen({ ...defaults, ...options }, handler);
}

export function text(body: string, status = 200, headers: Record<string, string> = {}): WireResponse {
  return { status, headers: toHeaderLines(headers), body };
}

/** Responds with method, target and body, such as `POST /x hello`, or with the reason why it can't read the body. The limits are for `readBody`. */
export async function echo(request: WireRequest, maxBytes?: number, maxSeconds?: number): Promise<WireResponse> {
  try {
    const body = await request.readBody(maxBytes, maxSeconds);
    const read = `${request.method} ${request.target} ${Buffer.from(body.view).toString("latin1")}`;
    return { status: 200, headers: [], body: Buffer.from(read, "latin1") };
  } catch (error) {
    return text((error as RequestError).reason, 400);
  }
}

/** The same without waiting, for requests that have no body. */
export function echoNow({ method, target }: WireRequest): WireResponse {
  return text(`${method} ${target}`);
}
