// Reads of whole sites wait for each other, but not for a hanging database.

import { afterAll, expect, test } from "bun:test";
import { allResources } from "../../../src/resources/all.ts";
import { readAllRows } from "../../../src/store/database/read-all-rows.ts";
import { openEngine } from "../../../src/store/open.ts";
import { LoadQueue } from "../../../src/store/postgres/load-queue.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { failureOf } from "../../support/failure.ts";
import { startPostgres } from "../../support/postgres/server.ts";
import { waitUntil } from "../../support/time.ts";

const sites = Array.from({ length: 24 }, (_, at) => at + 1);
const late = "the database did not respond within 1000 ms";

const server = await startPostgres();
const engine = await openEngine(`${await server.createDatabase()}?statement_timeout=1000`, allResources);
await waitUntil(async () => {
  const outcomes = await engine.commit(sites.map((site) => createIntent({ site }))).catch(() => []);
  return outcomes.length > 0;
}, "a record in each site");
afterAll(async () => {
  await engine.close();
  await server.remove();
});

test("load queue, database hangs: reads of many sites fail together, then succeed again", async () => {
  const messages: string[] = [];
  await server.signal("SIGSTOP");
  try {
    const reads = sites.map((site) =>
      failureOf(readAllRows(engine, site)).then(({ message }) => messages.push(message)),
    );
    await Promise.race(reads);
    // This fails when a further time limit has passed.
    await failureOf(engine.readHeads([1]));
    expect(messages).toEqual(sites.map(() => late));
    await Promise.all(reads);
  } finally {
    await server.signal("SIGCONT");
  }
  const read = () => Promise.all(sites.map((site) => readAllRows(engine, site))).catch(() => undefined);
  const found = await waitUntil(read, "a database that responds");
  expect(found.map(({ rows }) => rows.length)).toEqual(sites.map(() => 1));
});

test("load queue: a waiting read doesn't fail while the database responds to earlier ones", async () => {
  const queue = new LoadQueue(1, 300);
  const other = new LoadQueue(1, 300);
  const { promise: isOver, resolve: finish } = Promise.withResolvers<void>();
  const timer = setInterval(() => queue.markRows(), 10);
  const first = queue.run(() => isOver);
  const second = queue.run(async (remainingMs) => remainingMs);
  void other.run(() => isOver);
  expect((await failureOf(other.run(async () => {}))).message).toBe("the database did not respond within 300 ms");
  clearInterval(timer);
  finish();
  await first;
  expect(await second).toBeGreaterThan(200);
});

test("load queue: waiting time counts when it's a read's turn after a failure", async () => {
  const queue = new LoadQueue(1, 20_000);
  const started = performance.now();
  const { promise: isOver, reject: fail } = Promise.withResolvers<void>();
  const first = failureOf(queue.run(() => isOver));
  const second = queue.run(async (remainingMs) => remainingMs);
  await waitUntil(() => performance.now() > started + 20, "some milliseconds");
  fail(new Error("lost"));
  await first;
  expect(await second).toBeLessThan(19_990);
});

test("load queue: limited reads at once, in order, even after failures", async () => {
  const queue = new LoadQueue(2, 20_000);
  const order: number[] = [];
  let running = 0;
  let most = 0;
  const run = (at: number) =>
    queue.run(async () => {
      order.push(at);
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      if (at % 3 === 0) throw new Error("lost");
    });
  await Promise.allSettled(Array.from({ length: 12 }, (_, at) => run(at)));
  expect(most).toBe(2);
  expect(order).toEqual(Array.from({ length: 12 }, (_, at) => at));
});
