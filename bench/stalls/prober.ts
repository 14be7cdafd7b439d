import { join } from "node:path";
import { startLineClient } from "../process.ts";

/** The waits of the requests in a measurement, in milliseconds. */
export interface Waits {
  /** Number of requests. */
  readonly count: number;
  /** Number of requests with another status than 200. Each was repeated until it was successful. */
  readonly failures: number;
  /** Status and body of the last of them; empty if there was none. */
  readonly lastFailure: string;
  readonly p50: number;
  readonly p999: number;
  readonly longest: number;
}

export interface Prober {
  /** Measures while `work` runs, and for 300 ms after it. */
  during(work: () => Promise<unknown>): Promise<Waits>;
  stop(): void;
}

/**
 * Starts another client in a separate process, which looks up `path` on the site `host` every 2 ms, or with `probe` "writes" changes the brand there.
 * Resolves after the first successful request, because its wait belongs to the start of the server.
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
      // Include the effects of the work after its end, for example a garbage collection.
      await Bun.sleep(300);
      return client.ask("report");
    },
    stop: () => void client.stop(),
  };
}
