import { join } from "node:path";
import { pinned, startLineClient } from "../process.ts";

/** What the waiting clients received in a measurement. Times are in milliseconds. */
interface Received {
  /** Pages with changes. */
  readonly pages: number;
  readonly failures: number;
  /** When the first and last of these pages arrived, since 1970. */
  readonly first: number;
  readonly last: number;
  /** How old a page's last change was when it arrived: the median over all pages, and the maximum. */
  readonly usual: number;
  readonly oldest: number;
}

export interface Waiters {
  readonly count: number;
  /** Measures while `work` runs and for up to `after` milliseconds more, or until the clients have received `pages` pages. */
  during(work: () => Promise<unknown>, after: number, pages?: number): Promise<Received>;
  /** Closes all clients' connections. */
  leave(): void;
  /** Makes all clients follow again, starting with the next change. Returns once all are waiting. */
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

/** How often we check the number of pages. */
const pollMs = 100;

/** Starts `count` clients that follow `host` and share the keys, in a separate process. Returns once all are waiting. */
export async function startWaiters(
  url: string,
  host: string,
  count: number,
  keys: readonly string[],
): Promise<Waiters> {
  const idle = { leave: () => {}, comeBack: async () => {}, stop: async () => {} };
  if (count === 0) return { count, during: (work) => work().then(() => nothing), ...idle };
  const command = ["node", join(import.meta.dir, "waiters.mjs"), new URL(url).port, host, String(count), ...keys];
  const client = await startLineClient(pinned(1, command));
  return {
    count,
    async during(work, after, pages) {
      client.say("mark");
      await work();
      const deadline = performance.now() + after;
      for (;;) {
        await Bun.sleep(pages === undefined ? after : pollMs);
        const received: Received = await client.ask("report");
        if (performance.now() >= deadline || received.pages >= (pages ?? 0)) return received;
      }
    },
    leave: () => client.say("leave"),
    comeBack: () => client.ask("return"),
    stop: client.stop,
  };
}

const nothing: Received = { pages: 0, failures: 0, first: 0, last: 0, usual: 0, oldest: 0 };
