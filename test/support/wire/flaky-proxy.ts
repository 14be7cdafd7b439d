// A real proxy between client and server that fails the way proxies do.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export type Misbehaviour =
  /** Cuts the connection instead of forwarding the request. */
  | "lose the request"
  /** Forwards the request, but cuts the connection instead of responding. */
  | "lose the response"
  /** Forwards the request, but cuts the connection midway through the response. */
  | "cut the response short"
  /** Says that the server is busy. */
  | "respond 503"
  /** Forwards everything, but far too late. */
  | "dawdle";

export interface FlakyProxy {
  readonly url: string;
  /** Requests received, as `METHOD path`. */
  readonly seen: readonly string[];
  /** What to do wrong with the next requests, one entry each; undefined for nothing. */
  misbehave(...next: (Misbehaviour | undefined)[]): void;
  /** Called with each request, as in `seen`, before it's forwarded. The proxy waits for it. */
  beforeEach(listener: (request: string) => unknown): void;
  /** Removes these headers from every response until the next call. */
  without(...headers: string[]): void;
  /** Weakens every `ETag`, like proxies that compress. */
  weakenTags(isOn: boolean): void;
  stop(): Promise<void>;
}

/** Starts a proxy that serves `target` below the path `base`. */
export async function startFlakyProxy(target: string, base = ""): Promise<FlakyProxy> {
  const seen: string[] = [];
  const coming: (Misbehaviour | undefined)[] = [];
  let listener: (request: string) => unknown = () => {};
  let removed: string[] = [];
  let isWeakening = false;
  let stopped = false;
  const proxy = createServer(async (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const misbehaviour = coming.shift();
    if (!request.url?.startsWith(`${base}/`)) return response.writeHead(404).end();
    if (misbehaviour === "respond 503") return response.writeHead(503, { "Retry-After": "1" }).end("busy");
    if (misbehaviour === "dawdle") await Bun.sleep(2000);
    if (stopped || misbehaviour === "lose the request") return request.socket.destroy();
    await listener(`${request.method} ${request.url}`);
    const received = await passOn(request, target + request.url.slice(base.length));
    const body = await received.bytes();
    if (misbehaviour === "lose the response") return request.socket.destroy();
    for (const name of removed) received.headers.delete(name);
    const etag = received.headers.get("ETag");
    if (isWeakening && etag) received.headers.set("ETag", `W/${etag}`);
    response.writeHead(received.status, Object.fromEntries(received.headers));
    if (misbehaviour !== "cut the response short") return response.end(body);
    return response.write(body.subarray(0, 5), () => request.socket.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    seen,
    misbehave: (...next) => void coming.push(...next),
    beforeEach: (called) => {
      listener = called;
    },
    without: (...headers) => {
      removed = headers;
    },
    weakenTags: (isOn) => {
      isWeakening = isOn;
    },
    async stop() {
      stopped = true;
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

async function passOn(request: IncomingMessage, url: string): Promise<Response> {
  const { host: _, connection: __, "accept-encoding": ___, ...headers } = request.headers;
  const body = request.method === "GET" ? null : await buffer(request);
  return fetch(url, {
    method: request.method as string,
    headers: { ...(headers as Record<string, string>), "Accept-Encoding": "identity" },
    body: body as Bun.BodyInit | null,
  });
}
