// The program as someone who tries it starts it: `storefront serve --demo`, in a process of its own.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface DemoServer {
  readonly url: string;
  /** The key that it printed. */
  readonly key: string;
  stop(): Promise<void>;
}

/** Starts it on a free port and an empty database. */
export async function startDemoServer(): Promise<DemoServer> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-demo-"));
  const program = join(import.meta.dir, "../../bin/storefront.js");
  const command = ["node", program, "serve", "--demo", "--port", "0", "--log", "silent"];
  const env = { ...process.env, STOREFRONT_DATABASE: `sqlite:${join(folder, "demo.db")}` };
  const running = Bun.spawn(command, { env, stdout: "pipe", stderr: "ignore" });
  const [, url = "", key = ""] = await find(running.stdout, /listens on (\S+)[\s\S]*?(sfk_\w{42})/);
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

/** What `pattern` finds in what is written to `stream`. */
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
