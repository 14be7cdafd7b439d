import { join } from "node:path";
import { startLineClient } from "../process.ts";

/** How long a measurement's requests waited, in milliseconds. */
export interface Waits {
  readonly count: number;
  /** Requests that didn't get a 200. Each was repeated until it did. */
  readonly failures: number;
  /** Status and body of the last of these; empty if there was none. */
  readonly lastFailure: string;
  readonly p50: number;
  readonly p999: number;
  readonly longest: number;
}

export interface Prober {
  /** Measures while `work` runs, and for 300 ms afterwards. */
  during(work: () => Promise<unknown>): Promise<Waits>;
  stop(): void;
}

/**
 * Starts a client in a separate process that looks up `path` on the site `host` every 2 ms or, with "writes", changes the brand there. Resolves after the first
 * successful request, because waiting for that one is part of the server's start.
 */
export async function startProber(
  url: string,
  host: string,
  path: string,
  key: string,
  probe: "look-ups" | "writes" = "look-ups",
): Promise<Prober> {
  const script = join(import.meta.dir, "prober.mjs");
  const client = await startLineClient(["node", script, new URL(url).port, host, path, key, probe]);
  return {
    async during(work) {
      client.say("mark");
      await work();
      // Include the work's after-effects, such as garbage collection.
      await Bun.sleep(300);
      return client.ask("report");
    },
    stop: () => void client.stop(),
  };
}
