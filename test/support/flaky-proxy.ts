// A real proxy between client and server that misbehaves as real ones do.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export type Misbehaviour =
  /** Passes the request on, and cuts the connection instead of answering. */
  | "lose the answer"
  /** Answers by itself that the server is busy. */
  | "answer 503"
  /** Passes everything on, far too late. */
  | "dawdle";

export interface FlakyProxy {
  readonly url: string;
  /** The requests that came, as `METHOD path`. */
  readonly seen: readonly string[];
  /** What to do to the next requests, one each. */
  misbehave(...next: Misbehaviour[]): void;
  stop(): Promise<void>;
}

/** Starts a proxy to `target`. */
export async function startFlakyProxy(target: string): Promise<FlakyProxy> {
  const seen: string[] = [];
  const coming: Misbehaviour[] = [];
  let stopped = false;
  const proxy = createServer(async (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const misbehaviour = coming.shift();
    if (misbehaviour === "answer 503") return response.writeHead(503, { "Retry-After": "1" }).end("busy");
    if (misbehaviour === "dawdle") await Bun.sleep(2000);
    if (stopped) return request.socket.destroy();
    const answer = await passOn(request, target);
    const body = await answer.bytes();
    if (misbehaviour === "lose the answer") return request.socket.destroy();
    return response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(body);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    seen,
    misbehave: (...next) => void coming.push(...next),
    async stop() {
      stopped = true;
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

async function passOn(request: IncomingMessage, target: string): Promise<Response> {
  const { host: _, connection: __, ...headers } = request.headers;
  const body = request.method === "GET" ? null : await buffer(request);
  return fetch(`${target}${request.url}`, {
    method: request.method as string,
    headers: { ...(headers as Record<string, string>), "Accept-Encoding": "identity" },
    body: body as Bun.BodyInit | null,
  });
}
