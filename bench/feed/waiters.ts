import { join } from "node:path";
import { pinned, tracked } from "../process.ts";

/** Responses that the waiting clients received in a measurement. */
interface Received {
  /** Number of pages with changes. */
  readonly pages: number;
  readonly failures: number;
  /** Times of the first and the last of these pages, in milliseconds since 1970. */
  readonly first: number;
  readonly last: number;
  /** The most milliseconds that the last change of a page was old when the page arrived. */
  readonly behind: number;
}

export interface Waiters {
  /** Measures while `work` runs, and for `after` milliseconds after it. */
  during(work: () => Promise<unknown>, after: number): Promise<Received>;
  stop(): Promise<void>;
}

/** Starts `count` clients that follow the site `host`, in a separate process; they share the keys. Returns when all clients wait. */
export async function startWaiters(
  url: string,
  host: string,
  count: number,
  keys: readonly string[],
): Promise<Waiters> {
  if (count === 0) return { during: (work) => work().then(() => nothing), stop: async () => {} };
  const command = ["node", join(import.meta.dir, "waiters.mjs"), new URL(url).port, host, String(count), ...keys];
  const child = tracked(Bun.spawn(pinned(1, command), { stdio: ["pipe", "pipe", "inherit"] }));
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const read = async () => {
    const { value, done } = await lines.read();
    if (done) throw new Error("the waiting clients ended");
    return value;
  };
  const say = (line: string) => {
    child.stdin.write(`${line}\n`);
    child.stdin.flush();
  };
  await read();
  return {
    async during(work, after) {
      say("mark");
      await work();
      await Bun.sleep(after);
      say("report");
      return JSON.parse(await read());
    },
    async stop() {
      child.stdin.end();
      await child.exited;
    },
  };
}

const nothing: Received = { pages: 0, failures: 0, first: 0, last: 0, behind: 0 };
