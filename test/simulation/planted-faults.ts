// Faults that the simulation must find.

import type { Engine } from "../../src/model/engine.ts";
import type { WebhookState, WebhookStateUpdate } from "../../src/model/webhooks.ts";
import { readCursorAt } from "../../src/store/changes/feed.ts";
import type { Delivery, DeliveryResponse } from "../../src/webhooks/send.ts";
import { signatureHeaders } from "../../src/webhooks/webhook-event.ts";

type Send = (delivery: Delivery, signal: AbortSignal) => Promise<DeliveryResponse>;

/** Replaces a process's engine and sender with faulty ones. */
export interface PlantedFault {
  engine(engine: Engine): Engine;
  send(engine: Engine, send: Send): Send;
}

export const noFault: PlantedFault = { engine: (engine) => engine, send: (_, send) => send };

/** Replaces the engine's methods. */
function inEngine(make: (engine: Engine) => Partial<Engine>): PlantedFault {
  return { ...noFault, engine: (engine) => ({ ...engine, ...make(engine) }) };
}

/** Changes the webhook states that a process reads. */
function inStates(change: (state: WebhookState) => WebhookState): PlantedFault {
  return inEngine((engine) => ({
    readWebhookStates: async (keys) => (await engine.readWebhookStates(keys)).map(change),
    async acquireWebhookLease(...args) {
      const state = await engine.acquireWebhookLease(...args);
      return state && change(state);
    },
  }));
}

/** Replaces each state update with the result of `change`. If that's undefined, nothing is stored, but the caller is told it was. */
function inUpdates(
  change: (
    update: WebhookStateUpdate,
    engine: Engine,
    site: number,
  ) => WebhookStateUpdate | Promise<WebhookStateUpdate> | undefined,
): PlantedFault {
  return inEngine((engine) => ({
    async compareAndSetWebhook(key, expected, update) {
      const changed = await change(update, engine, key.site);
      return changed ? engine.compareAndSetWebhook(key, expected, changed) : true;
    },
  }));
}

/** Changes a state unconditionally. */
async function force(
  engine: Engine,
  key: { site: number; webhook: number },
  update: WebhookStateUpdate,
): Promise<boolean> {
  const [state] = await engine.readWebhookStates([key]);
  if (!state) return false;
  const { cursor, rewinds, resumes } = state;
  return engine.compareAndSetWebhook(key, { cursor, rewinds, resumes }, update);
}

const webhookIn = ({ headers }: Delivery) => Number(/^evt_(\d+)_/.exec(headers["webhook-id"] ?? "")?.[1]);

export const plantedFaults: Readonly<Record<string, PlantedFault>> = {
  "the cursor moves before the response": {
    ...noFault,
    send: (engine, send) => async (delivery, signal) => {
      const state = (await engine.readWebhookStates()).find(({ webhook }) => webhook === webhookIn(delivery));
      if (state)
        await force(engine, state, { cursor: JSON.parse(delivery.body.toString()).data.Next, first: 0, last: 0 });
      return send(delivery, signal);
    },
  },
  "states change without compare-and-set": inEngine((engine) => ({
    compareAndSetWebhook: (key, _expected, update) => force(engine, key, update),
  })),
  "the page is not fixed before the first attempt": inUpdates(({ first: _, last: __, ...update }) => update),
  "leases are not respected": inEngine((engine) => ({
    acquireWebhookLease: async (key, holder, milliseconds) => {
      await force(engine, key, { holder: null });
      return engine.acquireWebhookLease(key, holder, milliseconds);
    },
  })),
  "a lease is kept at the stop": inUpdates((update) =>
    Object.keys(update).length === 2 && update.holder === null ? undefined : update,
  ),
  "a change is left out": inEngine((engine) => ({
    readJournalPage: async (site, revision, limit) => {
      const page = await engine.readJournalPage(site, revision, limit);
      const entries = page.entries.map((entry) => (entry.revision === 5 ? { ...entry, resource: "none" } : entry));
      return { ...page, entries };
    },
  })),
  "a change after an empty page is lost": inUpdates(async (update, engine, site) => {
    const isEmpty = update.cursor !== undefined && update.failures === undefined && update.goneAt == null;
    if (!isEmpty) return update;
    const [head = { revision: 0, epoch: "" }] = await engine.readHeads([site]);
    return { ...update, cursor: await readCursorAt(engine, site, head) };
  }),
  "a body is signed with another secret": inEngine(() => ({
    readWebhookSecrets: async () => [{ secret: "whsec_AAAA", createdAt: 0, until: null }],
  })),
  "the schedule is ignored": inStates((state) => ({ ...state, nextAt: 0 })),
  "410 does not pause": inEngine((engine) => ({
    commit: async (intents, options) =>
      intents[0]?.actor === "webhook"
        ? [{ kind: "rejected", rejectionReason: "not-found" }]
        : engine.commit(intents, options),
  })),
  "failures are not reset": inUpdates(({ failures, failingSince, nextAt, ...update }) =>
    failures === 0
      ? update
      : ({ ...update, ...(failures === undefined ? {} : { failures, failingSince, nextAt }) } as WebhookStateUpdate),
  ),
  "a webhook of a new site takes any history for its own": inStates((state) =>
    state.cursor === "0.0" ? { ...state, epoch: "" } : state,
  ),
  "two pages have one ID": {
    ...noFault,
    send: (engine, send) => async (delivery, signal) => {
      const state = (await engine.readWebhookStates()).find(({ webhook }) => webhook === webhookIn(delivery));
      const [present] = state ? await engine.readWebhookSecrets(state) : [];
      const { headers, body } = delivery;
      const id = (headers["webhook-id"] ?? "").replace(/(_\d+_\d+)_[0-9a-f]{12}/, "$1_000000000000");
      const at = Number(headers["webhook-timestamp"]) * 1000;
      const signed = signatureHeaders(id, at, body, present ? [present.secret] : []);
      return send({ ...delivery, headers: { ...headers, ...signed } }, signal);
    },
  },
  "an event does not say what it continues": {
    ...noFault,
    send: (engine, send) => async (delivery, signal) => {
      const state = (await engine.readWebhookStates()).find(({ webhook }) => webhook === webhookIn(delivery));
      const [present] = state ? await engine.readWebhookSecrets(state) : [];
      const body = Buffer.from(delivery.body.toString().replace(/"Since":"[^"]*"/, `"Since":"${state?.cursor}"`));
      const { "webhook-id": id = "", "webhook-timestamp": timestamp } = delivery.headers;
      const signed = signatureHeaders(id, Number(timestamp) * 1000, body, present ? [present.secret] : []);
      return send({ ...delivery, body, headers: { ...delivery.headers, ...signed } }, signal);
    },
  },
  "a resume is undone by an attempt in flight": inEngine((engine) => ({
    async compareAndSetWebhook(key, expected, update) {
      const [state] = await engine.readWebhookStates([key]);
      return engine.compareAndSetWebhook(key, { ...expected, resumes: state?.resumes ?? 0 }, update);
    },
  })),
};
