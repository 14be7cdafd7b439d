import { join } from "node:path";
import { pinned, startLineClient } from "../process.ts";

/** Responses that the waiting clients received in a measurement. Times are in milliseconds. */
interface Received {
  /** Number of pages with changes. */
  readonly pages: number;
  readonly failures: number;
  /** When the first and the last of these pages arrived, since 1970. */
  readonly first: number;
  readonly last: number;
  /** How old the last change of a page was when the page arrived: the median of the pages, and the most. */
  readonly usual: number;
  readonly oldest: number;
}

export interface Waiters {
  /** Number of the clients. */
  readonly count: number;
  /** Measures while `work` runs, and for `after` milliseconds after it; at most until the clients have received `pages` pages. */
  during(work: () => Promise<unknown>, after: number, pages?: number): Promise<Received>;
  /** Closes the connections of all clients. */
  leave(): void;
  /** Lets all clients follow again, from the end of the changes on. Returns when all wait. */
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

/** Milliseconds between two looks at the number of pages. */
const pollMs = 100;

/** Starts `count` clients that follow the site `host`, in a separate process; they share the keys. Returns when all clients wait. */
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
