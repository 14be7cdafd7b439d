// A server that can be stopped and restarted with the same address and database.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../../src/config.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { start } from "../../../src/start.ts";

export interface RestartableServer {
  readonly url: string;
  readonly key: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and deletes its database. */
  remove(): Promise<void>;
}

/** Starts a server with an empty default site. */
export async function startRestartableServer(): Promise<RestartableServer> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-restart-"));
  const startOn = (port: string) =>
    start(readConfig({ PORT: port, ADMIN: "none", LOG: "silent", DATABASE: `sqlite:${join(folder, "test.db")}` }));
  let running = await startOn("0");
  const { url, port } = running;
  const site = await createSite(running.engine, "shop", { isDefault: true }, Date.now());
  const { key } = await createKey(running.engine, site, {}, Date.now());
  return {
    url,
    key,
    stop: () => running.stop(),
    start: async () => {
      running = await startOn(String(port));
    },
    remove: async () => {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
