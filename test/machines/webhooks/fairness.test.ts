// Many of a site's webhooks that are due at once (src/webhooks/runner.ts) each get their own event-loop tick, so that they don't delay clients.

import { describe, expect, test } from "bun:test";
import type { Engine } from "../../../src/model/engine.ts";
import { systemSite } from "../../../src/model/system-site.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { SiteViews } from "../../../src/store/reads/site-views.ts";
import { SystemSiteIndex } from "../../../src/system/system-site-index.ts";
import { systemClock } from "../../../src/webhooks/clock.ts";
import { WebhookRunner } from "../../../src/webhooks/runner.ts";
import type { DeliveryResponse } from "../../../src/webhooks/send.ts";
import { engines, useEngine } from "../../support/engine/engines.ts";
import { waitUntil } from "../../support/time.ts";
import { createTestWebhook } from "../../support/webhooks/test-webhook.ts";

const webhooks = 20;

/** Counts events, and the maximum in one tick of the event loop. */
function counter() {
  const counts = { all: 0, most: 0 };
  let inTick = 0;
  const count = () => {
    if (inTick === 0) setImmediate(() => (inTick = 0));
    counts.all++;
    counts.most = Math.max(counts.most, ++inTick);
  };
  return { counts, count };
}

/** Starts a runner, which sends nothing. */
function startRunner(engine: Engine, onRead: () => void, onSend: () => void): WebhookRunner {
  const index = new SystemSiteIndex(allResources);
  const siteViews = new SiteViews(engine, allResources, 1_000_000);
  siteViews.subscribeToSystemSite(index);
  const counted: Pick<Engine, "readJournalPage"> = {
    readJournalPage(...args) {
      onRead();
      return engine.readJournalPage(...args);
    },
  };
  return new WebhookRunner({
    engine: Object.assign(Object.create(engine), engine, counted),
    index,
    subscribeToSite: () => () => {},
    catchUpIndex: async () => siteViews.getUpToDate(systemSite),
    resources: new Map(allResources.map((resource) => [resource.name, resource])),
    async send(): Promise<DeliveryResponse> {
      onSend();
      return { status: 200, retryAfter: undefined, fault: null };
    },
    holder: "test",
    clock: systemClock,
    random: Math.random,
    onAttempt: () => {},
    onPause: () => {},
    log: { warn: () => {} },
  });
}

describe.each(engines)("webhooks on $name", (kind) => {
  let engine: Engine;
  useEngine(kind, (opened) => {
    engine = opened;
  });

  test(`${webhooks} that are due at once read and send their events in separate ticks`, async () => {
    const { ID: site } = await createSite(engine, "shop", {}, Date.now());
    const brand = { site, resource: "brand", operation: "create", actor: "sfk_x", at: Date.now() } as const;
    await engine.commit([{ ...brand, valuesJson: JSON.stringify({ Name: "A" }) }]);
    for (let i = 0; i < webhooks; i++) await createTestWebhook(engine, site, "https://erp.example/");
    const [reads, sends] = [counter(), counter()];
    const runner = startRunner(engine, reads.count, sends.count);
    await waitUntil(() => sends.counts.all === webhooks, "the deliveries");
    await runner.stop();
    expect(reads.counts.all).toBeGreaterThanOrEqual(webhooks);
    // Events before the immediate of a count are counted with the events after it.
    expect(Math.max(reads.counts.most, sends.counts.most)).toBeLessThanOrEqual(2);
  });
});
