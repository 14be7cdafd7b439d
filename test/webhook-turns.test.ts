import { expect, test } from "bun:test";
import { TurnQueue } from "../src/webhooks/turn-queue.ts";

/** A queue, the turns under way, and all turns so far. */
function openQueue() {
  const running = new Set<number>();
  const taken: number[] = [];
  const queue = new TurnQueue((webhook) => {
    running.add(webhook);
    taken.push(webhook);
  });
  const end = (webhook: number) => {
    running.delete(webhook);
    return queue.done(webhook);
  };
  return { queue, running, taken, end };
}

const range = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

test("64 webhooks have a turn at once, and the others wait in order", () => {
  const { queue, running, taken, end } = openQueue();
  for (const webhook of range(1, 100)) queue.add(webhook, false);
  expect([...running]).toEqual(range(1, 64));
  for (const webhook of range(1, 36)) end(webhook);
  expect(taken).toEqual(range(1, 100));
  expect(running.size).toBe(64);
});

test("a webhook that always has more takes turns with the others", () => {
  const { queue, taken, end } = openQueue();
  for (const webhook of range(1, 65)) queue.add(webhook, false);
  end(1);
  queue.add(1, false);
  end(2);
  expect(taken.slice(64)).toEqual([65, 1]);
});

test("a webhook has one turn at a time, which says at its end whether it was added meanwhile", () => {
  const { queue, taken, end } = openQueue();
  for (let i = 0; i < 5; i++) queue.add(1, false);
  expect(end(1)).toBe(true);
  queue.add(1, false);
  expect(end(1)).toBe(false);
  expect(taken).toEqual([1, 1]);
});

test("1,000 receivers that do not respond leave half of the turns to the others", () => {
  const { queue, running, taken, end } = openQueue();
  for (const webhook of range(1, 1000)) queue.add(webhook, true);
  expect(running.size).toBe(32);
  for (const webhook of range(2001, 100)) queue.add(webhook, false);
  expect(running.size).toBe(64);
  for (const webhook of range(2001, 100)) end(webhook);
  expect(taken.filter((webhook) => webhook > 2000)).toEqual(range(2001, 100));
  // Their turns go on as well.
  for (const webhook of range(1, 32)) end(webhook);
  expect(running).toEqual(new Set(range(33, 32)));
});

test("a webhook whose attempt succeeded is no retry any more", () => {
  const { queue, running } = openQueue();
  for (const webhook of range(1, 40)) queue.add(webhook, true);
  expect(running.size).toBe(32);
  queue.add(40, false);
  expect(running.has(40)).toBe(true);
});

test("no turn begins after the end", () => {
  const { queue, taken, end } = openQueue();
  for (const webhook of range(1, 70)) queue.add(webhook, false);
  queue.end();
  end(1);
  queue.add(100, false);
  expect(taken).toHaveLength(64);
});
