import { join } from "node:path";
import { pinned, tracked } from "../process.ts";

/** What clients that follow a site got. */
interface Received {
  /** Pages with changes. */
  readonly pages: number;
  readonly failures: number;
  /** When the first and the last of the pages came, in milliseconds since 1970. */
  readonly first: number;
  readonly last: number;
}

interface Waiters {
  /** What they get while `work` runs, and for so many milliseconds after it. */
  during(work: () => Promise<unknown>, after: number): Promise<Received>;
  stop(): Promise<void>;
}

/** Starts `count` clients that follow the site `host`, with the keys in turn, in a process of its own. Returns when all wait. */
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

const nothing: Received = { pages: 0, failures: 0, first: 0, last: 0 };
