// Faults that the simulation must find.

import type { Engine } from "../../src/model/engine.ts";
import type { WebhookChanges } from "../../src/model/webhooks.ts";
import type { Delivery, Received } from "../../src/webhooks/send.ts";

type Send = (delivery: Delivery, signal: AbortSignal) => Promise<Received>;

/** Replaces what a process uses by what has a fault. */
export interface PlantedFault {
  engine(engine: Engine): Engine;
  send(engine: Engine, send: Send): Send;
}

export const noFault: PlantedFault = { engine: (engine) => engine, send: (_, send) => send };

/** Changes a state whatever it is. */
async function force(
  engine: Engine,
  key: { site: number; webhook: number },
  changes: WebhookChanges,
): Promise<boolean> {
  const [state] = await engine.webhookStates([key]);
  if (!state) return false;
  const { cursor, rewinds, resumes } = state;
  return engine.updateWebhook(key, { cursor, rewinds, resumes }, changes);
}

export const plantedFaults: Readonly<Record<string, PlantedFault>> = {
  "the cursor moves before the response": {
    ...noFault,
    send: (engine, send) => async (delivery, signal) => {
      const webhook = Number(/^evt_(\d+)_/.exec(delivery.headers["webhook-id"] ?? "")?.[1]);
      const state = (await engine.webhookStates()).find((other) => other.webhook === webhook);
      if (state) await force(engine, state, { cursor: JSON.parse(delivery.body).data.Next, first: 0, last: 0 });
      return send(delivery, signal);
    },
  },
  "states change without compare-and-set": {
    ...noFault,
    engine: (engine) => ({ ...engine, updateWebhook: (key, _expected, changes) => force(engine, key, changes) }),
  },
  "the page is not fixed before the first attempt": {
    ...noFault,
    engine: (engine) => ({
      ...engine,
      updateWebhook: (key, expected, { first: _, last: __, ...changes }) =>
        engine.updateWebhook(key, expected, changes),
    }),
  },
  "leases are not respected": {
    ...noFault,
    engine: (engine) => ({
      ...engine,
      claimWebhook: async (key, holder, milliseconds) => {
        await force(engine, key, { holder: null });
        return engine.claimWebhook(key, holder, milliseconds);
      },
    }),
  },
  "a change is left out": {
    ...noFault,
    engine: (engine) => ({
      ...engine,
      journal: async (site, revision, limit) => {
        const page = await engine.journal(site, revision, limit);
        const entries = page.entries.map((entry) => (entry.revision === 5 ? { ...entry, resource: "none" } : entry));
        return { ...page, entries };
      },
    }),
  },
  "a body is signed with another secret": {
    ...noFault,
    engine: (engine) => ({
      ...engine,
      webhookSecrets: async () => [{ secret: "whsec_AAAA", createdAt: 0, until: null }],
    }),
  },
};
