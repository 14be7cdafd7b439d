// The order in which operators' long jobs run.

import { expect, test } from "bun:test";
import { LongWork, OperatorReads } from "../../../src/admin/long-work.ts";
import { AbandonedWorkError } from "../../../src/lib/work-limiter.ts";
import { waitUntil } from "../../support/time.ts";

type Asking = Parameters<LongWork["run"]>[0];

/** A request of an operator, whose client can leave. */
function requestOf(ID: number) {
  const request = { isAbandoned: false };
  return {
    asking: { request, session: { operator: { ID } } } as Asking,
    leave() {
      request.isAbandoned = true;
    },
  };
}

/** A place for one work, which is taken until `end` is called, and the works that have started since. */
function takenPlace() {
  const work = new LongWork(1);
  const started: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = work.run(requestOf(1).asking, () => promise);
  const ask = (name: string, { asking } = requestOf(1)) => work.run(asking, () => void started.push(name));
  const end = () => {
    resolve();
    return first;
  };
  return { started, ask, work, end };
}

test("long work: operators take turns", async () => {
  const { started, ask, end } = takenPlace();
  const works = ["a1", "a2", "a3"].map((name) => ask(name));
  works.push(...["b1", "b2"].map((name) => ask(name, requestOf(2))));
  await end();
  await Promise.all(works);
  expect(started).toEqual(["a1", "b1", "a2", "b2", "a3"]);
});

test("long work: skipped if the client has left", async () => {
  const { started, ask, end } = takenPlace();
  const [gone, alsoGone] = [requestOf(1), requestOf(2)];
  const works = [ask("gone", gone), ask("also gone", alsoGone), ask("there", requestOf(3))];
  gone.leave();
  alsoGone.leave();
  await end();
  const results = await Promise.allSettled(works);
  expect(results.map((result) => result.status === "rejected" && result.reason instanceof AbandonedWorkError)).toEqual([
    true,
    true,
    false,
  ]);
  expect(started).toEqual(["there"]);
});

test("long work: 32 jobs per operator can wait, not counting clients that have left", async () => {
  const { started, ask, end } = takenPlace();
  const gone = requestOf(1);
  const abandoned = ask("gone", gone).catch(() => {});
  const works = Array.from({ length: 31 }, (_, number) => ask(`${number}`));
  await expect(ask("one too many")).rejects.toMatchObject({ code: "too-many-requests" });
  works.push(ask("of another operator", requestOf(2)));
  gone.leave();
  works.push(ask("last"));
  await end();
  await Promise.all([abandoned, ...works]);
  expect([started.length, started[1], started.at(-1)]).toEqual([33, "of another operator", "last"]);
});

test("long work: a place comes back after a failure, and when nobody waits", async () => {
  const { ask, end, work, started } = takenPlace();
  const failing = work.run(requestOf(2).asking, () => Promise.reject(new Error("planned")));
  const next = ask("next");
  await end();
  await expect(failing).rejects.toThrow("planned");
  await next;
  await ask("later");
  expect(started).toEqual(["next", "later"]);
});

test("reads: four at once per operator, 64 more wait, others run", async () => {
  const reads = new OperatorReads();
  const running: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const read = (operator: number) =>
    reads.run(requestOf(operator).asking, () => {
      running.push(operator);
      return promise;
    });
  const all = Array.from({ length: 4 + 64 }, () => read(1));
  await expect(read(1)).rejects.toMatchObject({ code: "too-many-requests", retryAfterSeconds: 5 });
  all.push(read(2));
  await waitUntil(() => running.length === 5, "five reads");
  expect(running.sort()).toEqual([1, 1, 1, 1, 2]);
  resolve();
  await Promise.all(all);
  expect(running).toHaveLength(4 + 64 + 1);
});
