// Carries the webhooks of the former sandbox to the new one: their states and secrets. The publication changes `Site` of their records.
//
// The states are carried twice: before the publication, so that a server can deliver at once, and after it, so that no rotation, rewind or resume of the
// meantime is lost. A carried state has the epoch of the former sandbox. So the next event of the webhook is `storefront.gone`, and after it come the
// changes after the publication: not one event per copied record.

import { randomText } from "../../lib/text.ts";
import type { Engine } from "../../model/engine.ts";
import type { WebhookRef, WebhookSecret, WebhookState } from "../../model/webhooks.ts";

/** The state and the secrets of a webhook of the former sandbox. */
interface StoredWebhook {
  readonly state: WebhookState;
  readonly secrets: readonly WebhookSecret[];
}

/** The webhooks that were carried before the publication, by ID. */
type CarriedWebhooks = ReadonlyMap<number, StoredWebhook>;

/** The IDs of the former sandbox and of the new one. */
interface Move {
  readonly from: number;
  readonly to: number;
}

/** Copies the states and secrets of the webhooks `ids`. A webhook that is incomplete stays incomplete. */
export async function carryWebhooks(
  engine: Engine,
  ids: readonly number[],
  { from, to }: Move,
): Promise<CarriedWebhooks> {
  const carried = new Map<number, StoredWebhook>();
  for (const id of ids) {
    const stored = await readStored(engine, { site: from, webhook: id });
    if (!stored) continue;
    await engine.saveWebhook(toCarried(stored.state, to), stored.secrets);
    carried.set(id, stored);
  }
  return carried;
}

/**
 * Carries what has changed since `carryWebhooks`. Call it after the publication, and before the rows of the former sandbox are deleted.
 * @param moved IDs of the webhooks that the publication moved
 */
export async function carryLateChanges(
  engine: Engine,
  moved: readonly number[],
  { from, to }: Move,
  carried: CarriedWebhooks,
): Promise<void> {
  for (const id of moved) {
    const late = await readStored(engine, { site: from, webhook: id });
    if (late) await carryAgain(engine, late, carried.get(id), to);
  }
  // These webhooks were removed before the publication.
  for (const id of carried.keys()) if (!moved.includes(id)) await engine.deleteWebhook({ site: to, webhook: id });
}

async function carryAgain(
  engine: Engine,
  late: StoredWebhook,
  early: StoredWebhook | undefined,
  to: number,
): Promise<void> {
  const state = toCarried(late.state, to);
  if (!early || isChangedByOperator(early, late)) return engine.saveWebhook(state, late.secrets);
  const { cursor, rewinds, resumes } = early.state;
  if (state.cursor === cursor && state.since === early.state.since) return;
  // A delivery has moved the cursor. If a server has delivered from the new sandbox already, its progress counts.
  const { site: _, webhook: __, holder: ___, leaseUntil: ____, ...progress } = state;
  await engine.compareAndSetWebhook(state, { cursor, rewinds, resumes }, progress);
}

/** Whether an operator has rotated, rewound or resumed the webhook since. */
function isChangedByOperator(early: StoredWebhook, late: StoredWebhook): boolean {
  return identityOf(early) !== identityOf(late);
}

function identityOf({ state: { home, rewinds, resumes }, secrets }: StoredWebhook): string {
  return JSON.stringify([home, rewinds, resumes, secrets]);
}

async function readStored(engine: Engine, ref: WebhookRef): Promise<StoredWebhook | undefined> {
  const [state] = await engine.readWebhookStates([ref]);
  return state && { state, secrets: await engine.readWebhookSecrets(ref) };
}

/** Returns the state for the site `to`, without a lease and without an event in progress. */
function toCarried(state: WebhookState, to: number): WebhookState {
  // An empty epoch would be valid in any epoch, also in that of the new site.
  const epoch = state.epoch || randomText(8);
  return { ...state, site: to, epoch, first: 0, last: 0, goneAt: null, holder: null, leaseUntil: 0 };
}
