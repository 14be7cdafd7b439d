import { expect, test } from "bun:test";
import type { Exchange } from "../src/http/exchange.ts";
import { Polls } from "../src/http/poll.ts";

const clients = 200;
const head = { revision: 1, epoch: "e" };

test("of clients that go away together, a few are ended in each turn of the event loop", async () => {
  let ended = 0;
  const polls = new Polls(2 * clients, {
    siteWatch: { watch: () => () => {} },
    admission: { recheck: () => void ended++, readmit: () => Promise.reject(new Error("nothing has changed")) },
  });
  const goAway: (() => void)[] = [];
  const request = { onClientEnd: (callback: () => void) => void goAway.push(callback), dropBody: () => {} };
  const options = {
    key: { id: 1, prefix: "sfk_x" } as Parameters<Polls["wait"]>[1]["key"],
    wait: 60_000,
    first: { site: 1, head, system: head, isEnough: false },
    read: () => Promise.reject(new Error("nothing has changed")),
  };
  const waiting = Array.from({ length: clients }, () =>
    polls.wait({ request, waited: 0 } as unknown as Exchange, options),
  );
  expect(polls.size).toBe(clients);
  for (const leave of goAway) leave();
  let most = ended;
  for (let before = ended; ended < clients; before = ended) {
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, ended - before);
  }
  await Promise.all(waiting);
  expect([polls.size, most < clients / 5]).toEqual([0, true]);
});
