// Requests to the server under test: by fetch, or as bytes on a connection of their own.

import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";

/** A response, with the request as a command that repeats it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The bytes of the body. */
  readonly length: number;
  /** The request as a command of a shell. `$KEY` stands for the key. */
  readonly command: string;
}

export interface Sending {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  /** Whether the request needs a connection of its own. */
  readonly isFresh: boolean;
  /** The keys that the command must not show, with the names that stand for them. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly signal: AbortSignal;
}

/** The longest time for a response, in milliseconds: above the longest `wait`. */
const maxRequestMs = 60_000;

/** Sends a request and reads the response. Redirects are not followed. */
export async function send({ method, url, headers, body, isFresh, secrets, signal }: Sending): Promise<Answer> {
  const response = await fetch(url, {
    method,
    redirect: "manual",
    // A new connection can reach another process of the server.
    keepalive: !isFresh,
    headers: { "Accept-Encoding": "identity", ...headers },
    signal: AbortSignal.any([signal, AbortSignal.timeout(maxRequestMs)]),
    ...(body === undefined ? {} : { body }),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const isText = !/gzip|octet-stream/.test(response.headers.get("Content-Type") ?? "");
  const command = toCurl({ method, url, headers, body, secrets });
  return {
    status: response.status,
    headers: response.headers,
    text: isText ? new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) : "",
    length: bytes.length,
    command,
  };
}

/** Sends bytes, and resolves with the responses when `count` have arrived or the server closes; rejects after ten seconds. */
export function sendBytes(
  url: string,
  bytes: string,
  { count = 1, end = false, secrets }: { count?: number; end?: boolean; secrets: ReadonlyMap<string, string> },
): Promise<Answer[]> {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const isSecure = protocol === "https:";
  const at = { host, port: Number(port || (isSecure ? 443 : 80)) };
  const command = `printf '${hide(bytes.slice(0, 500), secrets).replaceAll("\r\n", "\\r\\n").replaceAll("%", "%%")}' | nc ${host} ${at.port}`;
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const socket = isSecure
      ? connectTls({ ...at, ...(/^[\d.:]+$/.test(host) ? {} : { servername: host }) })
      : connectTcp({ ...at, allowHalfOpen: true });
    const finish = () => {
      socket.destroy();
      resolve(readResponses(received, command));
    };
    socket.setTimeout(10_000, () => {
      socket.destroy();
      reject(new Error(`no complete response within ten seconds to: ${command}`));
    });
    socket.on("error", reject);
    socket.on("end", finish);
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (readResponses(received, command).length >= count) finish();
    });
    if (end) socket.end(bytes);
    else socket.write(bytes);
  });
}

/** Returns the complete responses at the beginning of `bytes`. Each must have `Content-Length`, or no body. */
function readResponses(bytes: Buffer, command: string): Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end < 0) return answers;
    const [first = "", ...lines] = bytes.toString("latin1", at, end).split("\r\n");
    const headers = new Headers();
    for (const line of lines) headers.append(line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1));
    const length = Number(headers.get("Content-Length") ?? 0);
    if (bytes.length < end + 4 + length) return answers;
    const text = bytes.toString("utf8", end + 4, end + 4 + length);
    answers.push({ status: Number(first.split(" ")[1]), headers, text, length, command });
    at = end + 4 + length;
  }
}

function toCurl({ method, url, headers, body, secrets }: Omit<Sending, "signal" | "isFresh">): string {
  const parts = [
    "curl -g -i",
    method === "HEAD" ? "--head" : `-X ${method}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    quote(url),
  ];
  if (body !== undefined) {
    const text = typeof body === "string" ? body : Buffer.from(body).toString("latin1");
    parts.push(
      `--data-binary ${quote(text.length > 500 ? `${text.slice(0, 500)}…(${text.length} characters)` : text)}`,
    );
  }
  return hide(parts.join(" "), secrets);
}

/** Returns the text as a word of a shell, on one line. */
function quote(text: string): string {
  if (!/[\n\r\t]/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replaceAll(/[\\'\n\r\t]/g, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`)}'`;
}

function hide(text: string, secrets: ReadonlyMap<string, string>): string {
  let shown = text;
  for (const [secret, name] of secrets) shown = shown.replaceAll(secret, `'"$${name}"'`);
  return shown;
}
