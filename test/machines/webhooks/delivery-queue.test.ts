// The delivery queue: its order, and the limits for sites and unresponsive receivers.

import { expect, test } from "bun:test";
import { DeliveryQueue } from "../../../src/webhooks/delivery-queue.ts";

/** A queue, the deliveries in flight, and all deliveries so far. Each webhook has a separate site, unless the test says otherwise. */
function openQueue() {
  const running = new Set<number>();
  const taken: number[] = [];
  const queue = new DeliveryQueue((webhook) => {
    running.add(webhook);
    taken.push(webhook);
  });
  const end = (webhook: number) => {
    running.delete(webhook);
    return queue.finishDelivery(webhook);
  };
  const add = (webhook: number, speed: "quick" | "slow" = "quick", site = webhook) =>
    queue.enqueue(webhook, { site, speed });
  return { queue, running, taken, add, end };
}

const range = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

test("delivery queue: 64 at once, others wait in order", () => {
  const { running, taken, add, end } = openQueue();
  for (const webhook of range(1, 100)) add(webhook);
  expect([...running]).toEqual(range(1, 64));
  for (const webhook of range(1, 36)) end(webhook);
  expect(taken).toEqual(range(1, 100));
  expect(running.size).toBe(64);
});

test("delivery queue: busy webhooks take turns with others", () => {
  const { taken, add, end } = openQueue();
  for (const webhook of range(1, 65)) add(webhook);
  end(1);
  add(1);
  end(2);
  expect(taken.slice(64)).toEqual([65, 1]);
});

test("delivery queue: one delivery per webhook, which learns if it was added again meanwhile", () => {
  const { taken, add, end } = openQueue();
  for (let i = 0; i < 5; i++) add(1);
  expect(end(1)).toBe(true);
  add(1);
  expect(end(1)).toBe(false);
  expect(taken).toEqual([1, 1]);
});

test("unresponsive receivers: 1,000 use at most half of the deliveries", () => {
  const { running, taken, add, end } = openQueue();
  for (const webhook of range(1, 1000)) add(webhook, "slow");
  expect(running.size).toBe(32);
  for (const webhook of range(2001, 100)) add(webhook);
  expect(running.size).toBe(64);
  for (const webhook of range(2001, 100)) end(webhook);
  expect(taken.filter((webhook) => webhook > 2000)).toEqual(range(2001, 100));
  // Their deliveries continue as well.
  for (const webhook of range(1, 32)) end(webhook);
  expect(running).toEqual(new Set(range(33, 32)));
});

test("quick attempt: queued with the others again", () => {
  const { running, add } = openQueue();
  for (const webhook of range(1, 40)) add(webhook, "slow");
  expect(running.size).toBe(32);
  add(40);
  expect(running.has(40)).toBe(true);
});

test("delivery queue: 8 at once per site, and no site delays another", () => {
  const { running, add, end } = openQueue();
  for (const webhook of range(1, 20)) add(webhook, "quick", 1000);
  for (const webhook of [21, 22]) add(webhook);
  expect(running).toEqual(new Set([...range(1, 8), 21, 22]));
  end(3);
  expect(running.has(9)).toBe(true);
  for (const webhook of range(101, 80)) add(webhook, "slow", 2000 + (webhook % 4));
  expect([...running].filter((webhook) => webhook > 100)).toEqual(range(101, 32));
});

test("delivery queue: nothing starts after the end", () => {
  const { queue, taken, add, end } = openQueue();
  for (const webhook of range(1, 70)) add(webhook);
  queue.stopStarting();
  end(1);
  add(100);
  expect(taken).toHaveLength(64);
});
