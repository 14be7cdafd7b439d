// A server with its admin listener and signed-in operators.

import pino from "pino";
import { readConfig } from "../../../src/config.ts";
import { createOperator } from "../../../src/operator/operators/operators.ts";
import { createSignInLink } from "../../../src/operator/operators/sessions.ts";
import { startAdmin } from "../../../src/start.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "../http/server.ts";
import { sharedScript } from "./shared-script.ts";

export interface ConsoleResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** Without a byte order mark. */
  readonly text: string;
  /** Undefined if the response has no body, or is a file. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member
  readonly json: any;
}

/** An operator's browser, but without a page. */
export interface ConsoleClient {
  readonly cookie: string;
  /** The operator's ID. */
  readonly id: number;
  /** Sends a request to the API under `/operator`, as the console's pages do. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ConsoleResponse>;
  /** Changes a record, as its form does. @param list the list's path @param version the version the operator has seen */
  change(list: string, id: number, values: object, version?: string): Promise<ConsoleResponse>;
}

export interface TestConsole extends TestServer {
  readonly adminUrl: string;
  /** @param sites the sites they can manage; none means all @param role default: `all` */
  addOperator(name: string, sites?: readonly string[], role?: GivenRole): Promise<void>;
  /** Stops only the admin listener. Call the result to start it again on the same address. */
  stopAdmin(): Promise<() => Promise<void>>;
  /** Returns a link to sign in with. */
  link(name: string): Promise<string>;
  /** Signs an operator in, and adds them first if there's none with this name. */
  signIn(name?: string, sites?: readonly string[], role?: GivenRole): Promise<ConsoleClient>;
}

type GivenRole = Parameters<typeof createOperator>[4];

interface TestConsoleOptions extends TestServerOptions {
  /** Returns the console's script, always the same. By default, it's built once per run. */
  readonly loadScript?: typeof sharedScript;
  /** Gets each line of the admin listener's log. */
  readonly onLog?: (line: string) => void;
  /** The admin listener's port, by default any free one. */
  readonly adminPort?: number;
}

export async function startTestConsole({
  onLog,
  adminPort = 0,
  ...options
}: TestConsoleOptions = {}): Promise<TestConsole> {
  const server = await startTestServer(options);
  const { engine, siteViews } = server;
  const config = readConfig({ LOG: "silent", ...options.settings, ADMIN: "127.0.0.1:0", DATABASE: server.database });
  const now = options.now ?? Date.now;
  const address = { host: "127.0.0.1", port: 0, isDefault: false };
  const open = (port: number) =>
    startAdmin(config, { ...address, port }, undefined, {
      engine,
      siteViews,
      samples: async () => [],
      askActivity: async (question) => [server.answer(question)],
      now,
      publicUrl: server.url,
      loadScript: options.loadScript ?? sharedScript,
      log: onLog && pino({ level: config.logLevel }, { write: onLog }),
    });
  let admin = await open(adminPort);
  const secretOf = async (name: string) => createSignInLink(engine, name, now());
  const add = async (name: string, sites: readonly string[] = [], role?: GivenRole) =>
    void (await createOperator(engine, name, sites, now(), role));
  return {
    ...server,
    adminUrl: admin.url,
    addOperator: add,
    async stopAdmin() {
      await admin.stop(0);
      return async () => {
        admin = await open(Number(new URL(admin.url).port));
      };
    },
    link: async (name) => `${admin.url}/#sign-in=${await secretOf(name)}`,
    async signIn(name = "anna", sites = [], role) {
      await add(name, sites, role).catch(() => {});
      const response = await send(admin.url, "POST", "/session", { link: await secretOf(name) });
      const cookie = response.headers.get("Set-Cookie")?.split(";", 1)[0] ?? "";
      const own = { Cookie: cookie, "X-Operator": String(response.json.id) };
      const call: ConsoleClient["call"] = (method, path, body, headers) =>
        send(admin.url, method, path, body, { ...own, ...headers });
      return {
        cookie,
        id: response.json.id,
        call,
        change: (list, id, values, version) => call("POST", `${list}/changes`, { changes: [{ id, version, values }] }),
      };
    },
    async stop() {
      await admin.stop(0);
      await server.stop();
    },
  };
}

async function send(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ConsoleResponse> {
  const response = await fetch(`${url}/operator${path}`, {
    method,
    headers: {
      Origin: url,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body) }),
  });
  const bytes = await response.bytes();
  const text = new TextDecoder().decode(bytes);
  const isJson =
    /json/.test(response.headers.get("Content-Type") ?? "") && !response.headers.has("Content-Disposition");
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}
