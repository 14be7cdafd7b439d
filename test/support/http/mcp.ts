// Sends messages to `POST /mcp`, as agents' clients do.

import type { TestServer } from "./server.ts";

export interface McpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** @throws if the body isn't JSON */
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member
  readonly json: any;
}

interface SendOptions {
  readonly headers?: Record<string, string>;
  /** Replaces the site's key; null sends none. */
  readonly key?: string | null;
}

type McpServer = Pick<TestServer, "url" | "key">;

/** Sends a body with an older client's headers. Anything but text or bytes is sent as JSON. */
export async function sendMessage(
  server: McpServer,
  body: unknown,
  { headers, key = server.key }: SendOptions = {},
): Promise<McpResponse> {
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      ...(key === null ? {} : { "X-API-AUTH": key }),
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      ...headers,
    },
    body: (isRaw ? body : JSON.stringify(body)) as Bun.BodyInit,
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}

/** A request of revision 2026-07-28: its body, and the headers that repeat parts of it. */
export function modernRequest(method: string, params: Record<string, unknown> = {}) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers: Record<string, string> = {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": method,
    ...(typeof params.name === "string" ? { "Mcp-Name": params.name } : {}),
  };
  return { body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }, headers };
}

/** Calls a tool. Returns its result's data, and whether that's an error. @throws if the response has no result */
export async function callTool(server: McpServer, name: string, sent: unknown = {}, options: SendOptions = {}) {
  const { text, json } = await sendMessage(
    server,
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: sent } },
    options,
  );
  if (json.result === undefined) throw new Error(text);
  const { content, structuredContent: data, isError } = json.result;
  if (content.length !== 1 || content[0].type !== "text") throw new Error(text);
  if (!Bun.deepEquals(JSON.parse(content[0].text), data)) throw new Error(`the text differs from the data: ${text}`);
  return { data, isError };
}
