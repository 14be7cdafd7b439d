// Measures how soon a change after a pause reaches the clients waiting for it.

import type { Request } from "../load.ts";
import type { Measured } from "../process.ts";
import { toSpread } from "../statistics.ts";
import { sendCreate } from "./sites.ts";
import type { Waiters } from "./waiters.ts";

/** How many changes to make, and how long all clients may take to receive one. */
const [changes, arrivalMs] = [5, 10_000];
/** How long it takes without a page, per thousand clients, until the site is at rest, and how long we wait for that. */
const [restMs, maxWaitMs] = [1000, 20_000];

/**
 * Sends creates, each after a pause.
 * @returns cells with the milliseconds until a create has its response, and until the first and last client have the change, and how many changes didn't
 *   reach a client. Undefined without clients
 */
export async function measureWakes(
  server: Measured,
  request: Request,
  waiters: Waiters,
): Promise<{ cells: string[]; failures: number } | undefined> {
  if (waiters.count === 0) return undefined;
  const times: { response: number; first: number; last: number }[] = [];
  let failures = 0;
  for (let i = 0; i < changes; i++) {
    let [sent, response] = [0, 0];
    await untilAtRest(waiters);
    const { pages, first, last } = await waiters.during(
      async () => {
        sent = performance.timeOrigin + performance.now();
        const failed = await sendCreate(server, request, `wake ${i}`);
        failures += failed;
        response = performance.timeOrigin + performance.now() - sent;
      },
      arrivalMs,
      waiters.count,
    );
    times.push({ response, first: first - sent, last: last - sent });
    failures += Math.max(0, waiters.count - pages);
  }
  const cell = (name: "response" | "first" | "last") =>
    toSpread(
      times.map((time) => time[name]),
      (time) => time.toFixed(0),
    );
  return { failures, cells: [cell("response"), cell("first"), cell("last")] };
}

/** Waits until all clients have every change. They then rest for a time that grows with their number (src/http/feed/follower-rounds.ts). */
async function untilAtRest(waiters: Waiters): Promise<void> {
  const deadline = performance.now() + maxWaitMs;
  const pauseMs = restMs * Math.max(1, waiters.count / 1000);
  let pages: number;
  do ({ pages } = await waiters.during(() => Bun.sleep(pauseMs), 0));
  while (pages > 0 && performance.now() < deadline);
}
