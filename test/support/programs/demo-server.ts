// Runs `storefront serve --demo` in its own process, as a new user would.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../../src/config.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createDemo } from "../../../src/operator/sites/demo.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { getSite } from "../../../src/operator/sites/sites.ts";
import { start } from "../../../src/start.ts";

export interface DemoServer {
  readonly url: string;
  /** The key it printed. */
  readonly key: string;
  stop(): Promise<void>;
}

/** Starts it on a free port and an empty database. */
export async function startDemoServer(): Promise<DemoServer> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-demo-"));
  const program = join(import.meta.dir, "../../../bin/storefront.js");
  const command = ["node", program, "serve", "--demo", "--port", "0", "--log", "silent", "--admin", "none"];
  const env = { ...process.env, STOREFRONT_DATABASE: `sqlite:${join(folder, "demo.db")}` };
  const running = Bun.spawn(command, { env, stdout: "pipe", stderr: "ignore" });
  const [, url = "", key = ""] = await find(running.stdout, /listening on (\S+)[\s\S]*?(sfk_\w{42})/);
  return {
    url,
    key,
    async stop() {
      running.kill();
      await running.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits for `pattern` in the output on `stream`. */
async function find(stream: ReadableStream<Uint8Array>, pattern: RegExp): Promise<RegExpExecArray> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const found = pattern.exec(text);
    if (found) return found;
  }
  throw new Error(`the program ended: ${text}`);
}

/** A demo in this process. */
export interface LocalDemoServer extends DemoServer {
  readonly engine: Engine;
  /** Creates or resets the site's sandbox, and returns a new key for it. @param rate its limit in requests per second. Default: none */
  openSandbox(rate?: number): Promise<string>;
  /** Returns a new key that can also manage the site's webhooks. */
  issueWebhookKey(): Promise<string>;
}

/**
 * The same in this process, for tests that need many servers.
 *
 * @param database address of an empty database. Default: a new file
 */
export async function startDemo(database?: string): Promise<LocalDemoServer> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-demo-"));
  const config = readConfig({ PORT: "0", LOG: "silent", DATABASE: database ?? `sqlite:${join(folder, "demo.db")}` });
  const running = await start(config);
  const key = (await createDemo(running.engine, Date.now())) as string;
  return {
    url: running.url,
    engine: running.engine,
    key,
    async openSandbox(rate) {
      const { site } = await makeSandbox(running.engine, "demo", { now: Date.now });
      return (await createKey(running.engine, site, { rate }, Date.now())).key;
    },
    async issueWebhookKey() {
      const site = await getSite(running.engine, "demo");
      return (await createKey(running.engine, site, { rights: ["write", "webhooks:write"] }, Date.now())).key;
    },
    async stop() {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
