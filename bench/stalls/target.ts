// Starts a server with a large site, and sends it clients' and operators' requests.

import { join } from "node:path";
import { runtimeSettings } from "../../bin/runtime-settings.js";
import { freePort, type Measured, startServer, tracked } from "../process.ts";
import type { FilledDatabase } from "./databases.ts";

export interface Target extends FilledDatabase {
  readonly url: string;
  readonly adminUrl: string;
  readonly server: Measured;
  /** Empty at first. */
  readonly folder: string;
  /** A CSV file with as many brands as the large site. */
  readonly csv: string;
  /** How many brands the large site has, which is also its revision. */
  readonly brands: number;
  /** Runs a `storefront` command on the database. */
  command(...args: string[]): Promise<void>;
  /** Returns the server's longest event-loop tick since the last call, in milliseconds of CPU time. */
  longestTurn(): Promise<number>;
}

const root = join(import.meta.dir, "../..");

export interface TargetSetting extends Pick<Target, "folder" | "csv" | "brands"> {
  /** Arguments for `serve`. */
  readonly flags: readonly string[];
}

/** The server may use all cores. */
export async function startTarget(filled: FilledDatabase, { flags, ...setting }: TargetSetting): Promise<Target> {
  const adminUrl = `http://127.0.0.1:${freePort()}`;
  const unix = join(setting.folder, `turns-${new URL(adminUrl).port}.sock`);
  const env = { ...runtimeSettings, ...envOf(filled), STALLS_SOCKET: unix, STOREFRONT_ADMIN: new URL(adminUrl).host };
  const program = ["--preload", join(import.meta.dir, "turns.ts"), join(root, "src/main.ts")];
  const command = ["node", join(root, "bin/bun.js"), ...program, "serve", "--port", "0", ...flags];
  const server = await startServer("storefront", command, env);
  server.useCores(navigator.hardwareConcurrency);
  return {
    ...filled,
    ...setting,
    url: server.url,
    adminUrl,
    server,
    command: (...args) => storefront(filled, args),
    longestTurn: async () => Number(await (await fetch("http://turns/", { unix })).text()),
  };
}

async function storefront(filled: FilledDatabase, args: readonly string[]): Promise<void> {
  const cmd = ["node", join(root, "bin/storefront.js"), ...args];
  const child = tracked(
    Bun.spawn(cmd, { env: { ...process.env, ...envOf(filled) }, stdio: ["ignore", "ignore", "pipe"] }),
  );
  const problem = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`storefront ${args.join(" ")}: ${problem.slice(0, 1000)}`);
}

function envOf({ database }: FilledDatabase) {
  return { STOREFRONT_DATABASE: database, STOREFRONT_LOG: "warn" };
}

/** The response may have any status. */
export function ask(target: Target, path: string, init: RequestInit = {}, site = "large"): Promise<Response> {
  const headers = { Host: `${site}.test`, "X-API-AUTH": target.keys[site] as string, ...init.headers };
  return fetch(target.url + path, { ...init, headers });
}

/** Sends a request to the console's API, as a page would. Returns the response's JSON, or its text. @throws Error for an error status */
// biome-ignore lint/suspicious/noExplicitAny: any member of any response
export async function operate(target: Target, method: string, path: string, body?: unknown): Promise<any> {
  const { adminUrl, session } = target;
  const isFile = body instanceof Uint8Array;
  const headers = {
    Cookie: `storefront_${new URL(adminUrl).port}=${session}`,
    Origin: adminUrl,
    // The only operator's ID.
    "X-Operator": "1",
    "Content-Type": isFile ? "application/octet-stream" : "application/json",
  };
  const content = body === undefined ? {} : { body: isFile ? body : JSON.stringify(body) };
  const response = await fetch(`${adminUrl}/operator${path}`, { method, headers, ...content });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
  return response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
}
