// A client for the proxies, over TLS: HTTP/2, and HTTP/1.1 as raw text.

import { readFileSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectTls } from "node:tls";

export interface ClientRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ClientResponse {
  readonly status: number;
  /** Keyed by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ProxyClient {
  /** Over HTTP/2, all on one connection. */
  request(request: ClientRequest): Promise<ClientResponse>;
  /** Sends `text` over HTTP/1.1 and returns everything until the connection closes. */
  raw(text: string): Promise<string>;
  /** The protocol that the first connection negotiated, such as `h2`. */
  protocol(): string | undefined;
  close(): void;
}

export async function connectClient(port: number, authority: string, host = "shop.example"): Promise<ProxyClient> {
  const ca = readFileSync(authority, "utf8");
  const session = await openSession(port, ca, host);
  return {
    request: (request) => send(session, request, host),
    raw: (text) => sendRaw(port, ca, text),
    protocol: () => session.alpnProtocol,
    close: () => session.destroy(),
  };
}

function openSession(port: number, ca: string, servername: string): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connect(`https://127.0.0.1:${port}`, { ca, servername });
    session.once("connect", () => resolve(session));
    session.on("error", reject);
  });
}

function send(session: ClientHttp2Session, request: ClientRequest, host: string): Promise<ClientResponse> {
  const { method = "GET", path, headers = {}, body } = request;
  return new Promise((resolve, reject) => {
    const names = { ":method": method, ":path": path, ":authority": host, ...headers };
    const stream = session.request(names, { endStream: body === undefined });
    let received: Record<string, string> = {};
    const chunks: Buffer[] = [];
    stream.on("response", (fields) => {
      received = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
    });
    stream.on("data", (chunk: Buffer) => void chunks.push(chunk));
    const status = () => Number(received[":status"] ?? 0);
    stream.on("end", () => resolve({ status: status(), headers: received, body: Buffer.concat(chunks).toString() }));
    stream.on("error", reject);
    if (body !== undefined) stream.end(body);
  });
}

function sendRaw(port: number, ca: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, ca, servername: "shop.example", ALPNProtocols: ["http/1.1"] };
    let received = "";
    const socket = connectTls(options, () => void socket.write(text));
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
    socket.on("end", () => {
      socket.end();
      resolve(received);
    });
    socket.on("error", reject);
  });
}
