// A real server on a real database file, for tests that speak HTTP to it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig, type Settings } from "../../src/config.ts";
import type { Engine } from "../../src/model/engine.ts";
import { createKey, type KeySettings } from "../../src/operator/keys.ts";
import { addSite, type SiteRecord } from "../../src/operator/sites.ts";
import { type StartOptions, start } from "../../src/start.ts";

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** Another key than the site's own; null for none. */
  readonly key?: string | null;
}

/** An answer with its body read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON. Throws when it is not. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  readonly json: any;
}

export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly engine: Engine;
  /** Where the database is. */
  readonly database: string;
  /** The default site, and a key that may write there. */
  readonly site: SiteRecord;
  readonly key: string;
  /** One request. A body that is no string or bytes is sent as JSON. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  issueKey(settings?: KeySettings): Promise<string>;
  stop(): Promise<void>;
}

export interface TestServerOptions extends StartOptions {
  readonly settings?: Settings;
}

/** Starts a server with an empty default site. */
export async function startTestServer({ settings, ...options }: TestServerOptions = {}): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-test-"));
  const database = settings?.DATABASE ?? `sqlite:${join(folder, "test.db")}`;
  const config = readConfig({ PORT: "0", LOG: "silent", ...settings, DATABASE: database });
  const running = await start(config, options);
  const now = options.now ?? Date.now;
  const site = await addSite(running.engine, "shop", { isDefault: true }, now());
  const issueKey = async (keySettings: KeySettings = {}) =>
    (await createKey(running.engine, site, keySettings, now())).key;
  const key = await issueKey();
  return {
    url: running.url,
    port: running.port,
    engine: running.engine,
    database,
    site,
    key,
    issueKey,
    call: (method, path, callOptions = {}) => call(`${running.url}${path}`, method, { key, ...callOptions }),
    async stop() {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One request to any address. */
export async function call(url: string, method: string, { body, headers, key }: CallOptions = {}): Promise<Answer> {
  const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(url, {
    method,
    redirect: "manual",
    headers: { ...(key ? { "X-API-AUTH": key } : {}), ...headers },
    ...(body === undefined ? {} : { body: (isRaw ? body : JSON.stringify(body)) as Bun.BodyInit }),
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
