// A real server on a real database file, for tests over HTTP.

import { afterAll, beforeAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConfigSources, readConfig } from "../../../src/config.ts";
import { toMetricsText } from "../../../src/lib/metrics.ts";
import type { Engine } from "../../../src/model/engine.ts";
import type { Resource } from "../../../src/model/resource.ts";
import { createKey, type KeySettings } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { type Running, type StartOptions, start } from "../../../src/start.ts";
import type { SiteViews } from "../../../src/store/reads/site-views.ts";
import type { SiteRecord } from "../../../src/system/system-records.ts";
import type { EngineKind } from "../engine/engines.ts";
import { waitUntil } from "../time.ts";
import { type Conformance, createConformance } from "./conformance.ts";

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** Replaces the site's key; null sends none. */
  readonly key?: string | null;
}

/** A response with its body read. */
export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** @throws if the body isn't JSON */
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member
  readonly json: any;
}

export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly engine: Engine;
  readonly siteViews: SiteViews;
  /** Answers a question about a site's activity. */
  readonly answer: Running["answer"];
  /** Returns the admin listener's /metrics. */
  metrics(): Promise<string>;
  /** The database's address. */
  readonly database: string;
  /** The default site, and a key with write access to it. */
  readonly site: SiteRecord;
  readonly key: string;
  /** Sends a request. Anything but text or bytes is sent as JSON. */
  call(method: string, path: string, options?: CallOptions): Promise<TestResponse>;
  issueKey(settings?: KeySettings): Promise<string>;
  stop(): Promise<void>;
}

export interface TestServerOptions extends StartOptions {
  readonly settings?: ConfigSources;
}

/** Starts a server with an empty default site. */
export async function startTestServer({ settings, ...options }: TestServerOptions = {}): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-test-"));
  const database = settings?.DATABASE ?? `sqlite:${join(folder, "test.db")}`;
  const config = readConfig({ PORT: "0", ADMIN: "none", LOG: "silent", ...settings, DATABASE: database });
  const running = await start(config, options);
  const now = options.now ?? Date.now;
  const site = await createSite(running.engine, "shop", { isDefault: true }, now());
  const issueKey = async (keySettings: KeySettings = {}) =>
    (await createKey(running.engine, site, keySettings, now())).key;
  const key = await issueKey();
  return {
    url: running.url,
    port: running.port,
    engine: running.engine,
    siteViews: running.siteViews,
    answer: running.answer,
    metrics: async () => toMetricsText([await running.sample()]),
    database,
    site,
    key,
    issueKey,
    call: (method, path, callOptions = {}) =>
      call(`${running.url}${path}`, method, { key, ...callOptions }, conformanceOf(options.resources)),
    async stop() {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a server on an empty database of this kind for the tests of the `describe` block that calls this, and passes it to `set`. */
export function useServer(kind: EngineKind, set: (server: TestServer) => void, options: StartOptions = {}): void {
  let server: TestServer;
  beforeAll(async () => {
    await kind.open();
    server = await startTestServer({ ...options, settings: { DATABASE: await kind.newDatabase() } });
    set(server);
  });
  afterAll(async () => {
    await server.stop();
    await kind.close();
  });
}

/** Waits until the server has exactly `count` long polls waiting. */
export function waitForPolls(server: Pick<TestServer, "metrics">, count: number): Promise<boolean> {
  const line = `\nstorefront_polls_waiting ${count}\n`;
  return waitUntil(async () => (await server.metrics()).includes(line), `${count} polls`);
}

/** Sends a request to any address. @throws if the response doesn't match the OpenAPI document */
export async function call(
  url: string,
  method: string,
  { body, headers, key }: CallOptions = {},
  conformance = conformanceOf(),
): Promise<TestResponse> {
  const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(url, {
    method,
    redirect: "manual",
    headers: { ...(key ? { "X-API-AUTH": key } : {}), ...headers },
    ...(body === undefined ? {} : { body: (isRaw ? body : JSON.stringify(body)) as Bun.BodyInit }),
  });
  const text = await response.text();
  const { pathname, search } = new URL(url);
  await conformance.check(
    { method, path: pathname + search },
    { status: response.status, headers: response.headers, text },
  );
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}

const conformances = new Map<readonly Resource[], Conformance>();

/** Made once per set of resources, because it compiles their schemas. */
function conformanceOf(resources: readonly Resource[] = allResources): Conformance {
  let conformance = conformances.get(resources);
  if (!conformance) {
    conformance = createConformance(resources);
    conformances.set(resources, conformance);
  }
  return conformance;
}
