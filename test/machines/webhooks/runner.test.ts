// How a process delivers webhooks, by a clock that tests set: when it scans them all, how long its leases last, and what happens if it pauses a webhook that an
// operator resumes.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { ProblemError } from "../../../src/model/errors.ts";
import { systemSite } from "../../../src/model/system-site.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createSite, getSite } from "../../../src/operator/sites/sites.ts";
import { getWebhook } from "../../../src/operator/webhooks/webhook-list.ts";
import { resumeWebhook } from "../../../src/operator/webhooks/webhooks.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { SiteViews } from "../../../src/store/reads/site-views.ts";
import { SystemSiteIndex } from "../../../src/system/system-site-index.ts";
import type { Clock } from "../../../src/webhooks/clock.ts";
import { acquireLease, type WebhookLease } from "../../../src/webhooks/lease.ts";
import { WebhookRunner } from "../../../src/webhooks/runner.ts";
import type { Delivery, DeliveryResponse } from "../../../src/webhooks/send.ts";
import { openSqliteFile } from "../../support/engine/sqlite-file.ts";
import { ticks, waitUntil } from "../../support/time.ts";
import { createTestWebhook } from "../../support/webhooks/test-webhook.ts";

/** The clock of the database and of the process, and the timers that wait for it. */
class TestClock implements Clock {
  at = Date.UTC(2030, 0, 1);
  /** Milliseconds of the timers that were set and have not ended, by their callbacks. */
  readonly timers = new Map<() => void, number>();

  now = () => this.at;
  monotonicMs = () => this.at;
  callAfter = (milliseconds: number, callback: () => void) => {
    this.timers.set(callback, milliseconds);
    return () => void this.timers.delete(callback);
  };

  /** Lets all timers end. */
  end(): void {
    const ended = [...this.timers];
    this.timers.clear();
    for (const [callback] of ended) callback();
  }
}

let folder: string;
let engine: Engine;
let clock: TestClock;
let sites = 0;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "storefront-runner-"));
  engine = await openEngine(`sqlite:${join(folder, "test.db")}`, allResources, { clock: () => clock.at });
});
afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A webhook of a new site, which has one brand. */
async function addWebhook() {
  clock = new TestClock();
  return addToNewSite();
}

async function addToNewSite() {
  const { ID: site } = await createSite(engine, `shop${++sites}`, {}, clock.at);
  await change(site);
  return createTestWebhook(engine, site, "https://erp.example/");
}

function change(...ids: number[]) {
  const brand = {
    resource: "brand",
    operation: "create",
    actor: "sfk_x",
    at: clock.at,
    valuesJson: '{"Name":"A"}',
  } as const;
  return engine.commit(ids.map((site) => ({ ...brand, site })));
}

interface RunnerOptions {
  readonly engine?: Engine;
  readonly onRefresh?: () => void | Promise<void>;
  readonly received?: DeliveryResponse | ((delivery: Delivery) => Promise<DeliveryResponse>);
  readonly onPause?: () => void;
  readonly onWarning?: (warning: unknown) => void;
  readonly onSubscribe?: (onChange: () => void) => void;
}

function startRunner({
  onRefresh = () => {},
  received,
  onPause = () => {},
  onWarning = () => {},
  onSubscribe = () => {},
  ...options
}: RunnerOptions): WebhookRunner {
  const index = new SystemSiteIndex(allResources);
  const siteViews = new SiteViews(engine, allResources, 1_000_000);
  siteViews.subscribeToSystemSite(index);
  return new WebhookRunner({
    engine: options.engine ?? engine,
    index,
    subscribeToSite(_site, _head, onChange) {
      onSubscribe(onChange);
      return () => {};
    },
    async catchUpIndex() {
      await onRefresh();
      if (received) await siteViews.getUpToDate(systemSite);
    },
    resources: new Map(allResources.map((resource) => [resource.name, resource])),
    send: async (delivery) => (typeof received === "function" ? received(delivery) : (received as DeliveryResponse)),
    holder: "test",
    clock,
    random: () => 0.5,
    onAttempt: () => {},
    onPause,
    log: { warn: onWarning },
  });
}

describe("scans of all webhooks", () => {
  test.each([
    [0, 2000],
    [99, 2000],
    [150, 3000],
    [200, 4000],
    [5000, 4000],
  ])("one that took %d ms: the next comes %d ms later", async (took, pause) => {
    clock = new TestClock();
    const runner = startRunner({
      onRefresh() {
        clock.at += took;
      },
    });
    expect([...clock.timers.values()]).toEqual([0]);
    clock.end();
    await waitUntil(() => clock.timers.size > 0, "the next scan");
    expect([...clock.timers.values()]).toEqual([pause]);
    await runner.stop();
    expect(clock.timers.size).toBe(0);
  });

  test("end with the runner, even if one is in flight", async () => {
    clock = new TestClock();
    const stopped = Promise.withResolvers<void>();
    const runner: WebhookRunner = startRunner({
      async onRefresh() {
        // The runner knows the scan only then.
        await ticks();
        stopped.resolve(runner.stop());
      },
    });
    clock.end();
    await stopped.promise;
    expect(clock.timers.size).toBe(0);
  });
});

describe("a lease", () => {
  /** The times on the clock of the database until which a request of this lease may last, and at which the lease ends. */
  const endsOf = ({ usableMs, state }: WebhookLease) => [clock.at + usableMs, state.leaseUntil];
  /** The engine. Acquiring a lease takes these times before and after the database executes it. */
  const slowEngine = (before: number, after: number): Engine => ({
    ...engine,
    async acquireWebhookLease(...args) {
      clock.at += before;
      const state = await engine.acquireWebhookLease(...args);
      clock.at += after;
      return state;
    },
  });

  test.each([
    [0, 0],
    [7000, 0],
    [0, 7000],
    [3000, 9000],
  ])("not used in its last second, if the database took %d ms before and %d ms after storing it", async (before, after) => {
    const key = await addWebhook();
    const lease = await acquireLease(key, { engine: slowEngine(before, after), holder: "one", clock });
    const [end, until] = endsOf(lease as WebhookLease) as [number, number];
    expect(end).toBe(until - before - 1000);
    clock.at += 10_000;
    expect(await lease?.renew()).toBe(true);
    const [renewedEnd, renewedUntil] = endsOf(lease as WebhookLease) as [number, number];
    expect(renewedUntil).toBeGreaterThan(until);
    expect(renewedEnd).toBe(renewedUntil - before - 1000);
  });
});

test("late pause that the database doesn't undo: logged as an error", async () => {
  await addWebhook();
  let commits = 0;
  // An operator resumes the webhook after the attempt was saved. Then the database fails.
  const failing: Engine = {
    ...engine,
    async commit(intents, options) {
      if (++commits === 2) throw new ProblemError("unavailable", "the disk is full");
      return engine.commit(intents, options);
    },
    readWebhookStates: async (keys) => {
      const states = await engine.readWebhookStates(keys);
      return commits === 1 ? states.map((state) => ({ ...state, resumes: state.resumes + 1 })) : states;
    },
  };
  const warnings: unknown[] = [];
  const received = { status: 410, retryAfter: undefined, fault: "410 Gone" };
  const runner = startRunner({ engine: failing, received, onWarning: (warning) => void warnings.push(warning) });
  clock.end();
  await waitUntil(() => warnings.length > 0, "the warning");
  expect(JSON.stringify(warnings)).toContain("the disk is full");
  await runner.stop();
});

test("webhook of a site that's being written to: rests before it delivers more", async () => {
  const { site } = await addWebhook();
  await change(...Array.from({ length: 250 }, () => site));
  let onChange = () => {};
  let sent = 0;
  const runner = startRunner({
    onSubscribe: (callback) => {
      onChange = callback;
    },
    async received() {
      sent++;
      // The site only changes during the first delivery.
      if (sent === 1) onChange();
      return { status: 200, retryAfter: undefined, fault: null };
    },
  });
  clock.end();
  const [endRest] = await waitUntil(() => [...clock.timers].find(([, milliseconds]) => milliseconds === 7), "the rest");
  expect(sent).toBe(1);
  endRest();
  await waitUntil(() => sent === 3, "the other deliveries");
  await runner.stop();
});

test("slow receivers: half of the deliveries until they're quick again", async () => {
  const responses: ((received: DeliveryResponse) => void)[] = [];
  const received = () => new Promise<DeliveryResponse>((resolve) => responses.push(resolve));
  const respond = () => {
    for (const resolve of responses.splice(0)) resolve({ status: 200, retryAfter: undefined, fault: null });
  };
  const { site } = await addWebhook();
  const ids = [site];
  while (ids.length < 40) ids.push((await addToNewSite()).site);
  const runner = startRunner({ received });
  const untilSent = (count: number) => waitUntil(() => responses.length >= count, `${count} requests`);
  /** All sites change, the runner scans, and each request takes this long. */
  const deliver = async (first: number, milliseconds: number) => {
    clock.end();
    await untilSent(first);
    // All deliveries that start together acquire their leases before the first of their requests.
    const leased = (await engine.readWebhookStates()).filter(({ holder }) => holder !== null);
    expect([leased.length, responses.length]).toEqual([first, first]);
    clock.at += milliseconds;
    respond();
    await untilSent(ids.length - first);
    respond();
    const isDone = async () =>
      (await engine.readWebhookStates()).every(({ holder, last }) => holder === null && last === 0);
    await waitUntil(isDone, "the deliveries");
    await change(...ids);
  };
  await deliver(40, 1000);
  await deliver(32, 10);
  await deliver(40, 10);
  await runner.stop();
});

test("stopping process: hands over right away, even if the webhook was resumed during the request", async () => {
  const key = await addWebhook();
  const policy = { allow: [], isLoopbackAllowed: false, lookup: async () => ["1.1.1.1"] };
  const sent = Promise.withResolvers<void>();
  const response = Promise.withResolvers<DeliveryResponse>();
  const received = () => {
    sent.resolve();
    return response.promise;
  };
  const runner = startRunner({ received });
  clock.end();
  await sent.promise;
  await resumeWebhook(engine, key.webhook, policy, clock.at);
  const stopped = runner.stop();
  response.resolve({ status: null, retryAfter: undefined, fault: "the attempt was interrupted" });
  await stopped;
  expect(await engine.readWebhookStates([key])).toMatchObject([{ holder: null, resumes: 1 }]);
});

test("pause after a resume: undone", async () => {
  const key = await addWebhook();
  const policy = { allow: [], isLoopbackAllowed: false, lookup: async () => ["1.1.1.1"] };
  const resume = () => resumeWebhook(engine, key.webhook, policy, clock.at);
  let pauses = 0;
  const racing: Engine = {
    ...engine,
    async commit(intents, options) {
      // The failure of the attempt is stored, and the pause is not.
      if (intents[0]?.actor === "webhook" && pauses++ === 0) await resume();
      return engine.commit(intents, options);
    },
  };
  let reported = 0;
  const received = { status: 410, retryAfter: undefined, fault: "the receiver responded with 410" };
  const runner = startRunner({ engine: racing, received, onPause: () => void reported++ });
  clock.end();
  await waitUntil(() => pauses === 2, "both changes");
  await runner.stop();
  expect(await getWebhook(engine, key.webhook)).toMatchObject({ Paused: "", Reason: "", status: "active" });
  expect(reported).toBe(0);
});

test("lease: not used once the webhook's sandbox was reset", async () => {
  clock = new TestClock();
  const live = await createSite(engine, "garden", {}, clock.at);
  await change(...Array.from({ length: 250 }, () => live.ID));
  // The rows of the former sandbox stay, so that the lease could still be used.
  const keeping: Engine = { ...engine, dropSite: async () => {} };
  const renew = () => makeSandbox(keeping, "garden", { now: () => clock.at });
  const { site: former } = await renew();
  const key = await createTestWebhook(engine, former.ID, "https://erp.example/");
  let requests = 0;
  const runner = startRunner({
    received: async () => {
      requests++;
      return { status: 200, retryAfter: undefined, fault: null };
    },
    // The first page has been delivered, and the lease is kept for the second one.
    async onRefresh() {
      if (requests === 1 && (await getSite(engine, "garden-sandbox")).ID === former.ID) await renew();
    },
  });
  clock.end();
  const renewedKey = { ...key, site: former.ID + 1 };
  await waitUntil(async () => {
    const [state] = await engine.readWebhookStates([renewedKey]);
    return state?.cursor.endsWith(".250") && state.goneAt === null;
  }, "the event that changes are gone, and its response");
  await runner.stop();
  expect(requests).toBe(2);
  const [before, after] = await engine.readWebhookStates([key, renewedKey]);
  expect(before).toMatchObject({ cursor: expect.stringMatching(/\.100$/), holder: null });
  expect(after).toMatchObject({ goneAt: null, holder: null });
});

test("sandbox reset during a delivery: sends nothing about the old sandbox", async () => {
  clock = new TestClock();
  const live = await createSite(engine, "garden", {}, clock.at);
  await change(live.ID, live.ID);
  const renew = () => makeSandbox(engine, "garden", { now: () => clock.at });
  const { site: former } = await renew();
  const key = await createTestWebhook(engine, former.ID, "https://erp.example/");
  using database = openSqliteFile(join(folder, "test.db"));
  let leases = 0;
  const renewing: Engine = {
    ...engine,
    async acquireWebhookLease(...args) {
      const state = await engine.acquireWebhookLease(...args);
      if (++leases === 2) {
        // The deletion of the rows has begun, and does not reach the state of the webhook.
        database.run(
          "create trigger kept before delete on webhook_state begin select raise(abort, 'it is deleted later'); end",
        );
        expect((await renew()).leftover).toContain("it is deleted later");
      }
      return state;
    },
  };
  const events: { type: string; data: { Since: string; Next: string } }[] = [];
  const runner = startRunner({
    engine: renewing,
    async received({ body }) {
      events.push(JSON.parse(body.toString()));
      return { status: 200, retryAfter: undefined, fault: null };
    },
  });
  clock.end();
  await waitUntil(async () => (await engine.readWebhookStates([key]))[0]?.cursor.endsWith(".2"), "the first event");
  await change(former.ID);
  const renewedKey = { ...key, site: former.ID + 1 };
  await waitUntil(async () => {
    clock.end();
    const [state] = await engine.readWebhookStates([renewedKey]);
    return state?.goneAt === null && state.cursor !== events[0]?.data.Next;
  }, "the event that changes are gone, and its response");
  await runner.stop();
  expect(events.map(({ type }) => type)).toEqual(["storefront.changes", "storefront.gone"]);
  expect(events[1]?.data).toMatchObject({ Since: events[0]?.data.Next, Next: expect.stringMatching(/\.2$/) });
});
