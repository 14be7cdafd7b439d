// Sends requests to the server under test, with fetch or as raw bytes on their own connection.

import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";

/** A response, with a shell command that repeats its request. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Body length in bytes. */
  readonly length: number;
  /** Shows `$KEY` instead of the key. */
  readonly command: string;
}

export interface Sending {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  /** Whether to use a new connection. */
  readonly isFresh: boolean;
  /** Keys that the command mustn't show, with the names to show instead. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly signal: AbortSignal;
}

/** Longer than the longest `wait`. */
const maxRequestMs = 60_000;

/** Doesn't follow redirects. */
export async function send({ method, url, headers, body, isFresh, secrets, signal }: Sending): Promise<Answer> {
  const response = await fetch(url, {
    method,
    redirect: "manual",
    // A new connection may reach another of the server's processes.
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

/** Repeats a request that gets a 429, after its `Retry-After`, up to ten times. A site's webhooks can only be changed so often. */
export async function untilAllowed(sendNow: () => Promise<Answer>): Promise<Answer> {
  for (let i = 0; ; i++) {
    const answer = await sendNow();
    const seconds = Number(answer.headers.get("Retry-After"));
    if (answer.status !== 429 || i === 10 || !(seconds <= 10)) return answer;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

/** Sends bytes, and resolves once `count` responses have arrived or the server closes the connection. Rejects after ten seconds. */
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

/** Returns the complete responses that `bytes` starts with. Each must have a `Content-Length`, or no body. */
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

/** Quotes text for a shell, on one line. */
function quote(text: string): string {
  if (!/[\n\r\t]/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replaceAll(/[\\'\n\r\t]/g, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`)}'`;
}

function hide(text: string, secrets: ReadonlyMap<string, string>): string {
  let shown = text;
  for (const [secret, name] of secrets) shown = shown.replaceAll(secret, `'"$${name}"'`);
  return shown;
}
