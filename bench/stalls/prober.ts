import { join } from "node:path";
import { tracked } from "../process.ts";

/** How long probes waited, in milliseconds. */
export interface Waits {
  readonly count: number;
  /** Probes that got another status than 200; they were repeated until one was successful. */
  readonly failures: number;
  readonly p50: number;
  readonly p999: number;
  readonly longest: number;
}

export interface Prober {
  /** Probes while `work` runs, and for a moment after it. */
  during(work: () => Promise<unknown>): Promise<Waits>;
  stop(): void;
}

/**
 * Another client, in a process of its own, which looks up `path` on the site `host` every 2 ms. Resolves when the first look-up was successful: what
 * it waits for belongs to the start of the server.
 */
export async function startProber(url: string, host: string, path: string, key: string): Promise<Prober> {
  const script = join(import.meta.dir, "prober.mjs");
  const child = tracked(
    Bun.spawn(["node", script, new URL(url).port, host, path, key], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const say = (line: string) => {
    child.stdin.write(`${line}\n`);
    child.stdin.flush();
  };
  const read = async () => {
    const { value, done } = await lines.read();
    if (done) throw new Error("the prober ended");
    return value;
  };
  await read();
  return {
    async during(work) {
      say("mark");
      await work();
      // What the work left behind (collected garbage, say) counts too.
      await Bun.sleep(300);
      say("report");
      return JSON.parse(await read());
    },
    stop: () => void child.stdin.end(),
  };
}
