// Carries webhook states and secrets over from the old sandbox to the new one. Publishing the new one changes `Site` in their records.
//
// They're carried twice: before publishing, so that servers can deliver right away, and after it, so that no rotation, rewind or resume in between is
// lost. A carried state has the old sandbox's epoch. So the webhook's next event is `storefront.gone`, followed by the changes made since publishing,
// and not by one event per copied record.

import { randomText } from "../../lib/text.ts";
import type { Engine } from "../../model/engine.ts";
import type { WebhookRef, WebhookSecret, WebhookState } from "../../model/webhooks.ts";

/** A webhook of the old sandbox. */
interface StoredWebhook {
  readonly state: WebhookState;
  readonly secrets: readonly WebhookSecret[];
}

/** What was carried before publishing, by webhook ID. */
type CarriedWebhooks = ReadonlyMap<number, StoredWebhook>;

/** The IDs of the old and the new sandbox. */
interface Move {
  readonly from: number;
  readonly to: number;
}

/** Skips webhooks that have no state. */
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
 * Carries over what has changed since `carryWebhooks`. Call this after publishing, and before deleting the old sandbox's rows.
 * @param moved the webhooks that publishing moved
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
  // The others were removed before publishing.
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
  // A delivery has moved the cursor. But if a server has already delivered from the new sandbox, that progress counts.
  const { site: _, webhook: __, holder: ___, leaseUntil: ____, ...progress } = state;
  await engine.compareAndSetWebhook(state, { cursor, rewinds, resumes }, progress);
}

/** Whether someone has rotated, rewound or resumed the webhook in between. */
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

/** The state for the site `to`, without a lease or an event in progress. */
function toCarried(state: WebhookState, to: number): WebhookState {
  // An empty epoch would match any epoch, including the new site's.
  const epoch = state.epoch || randomText(8);
  return { ...state, site: to, epoch, first: 0, last: 0, goneAt: null, holder: null, leaseUntil: 0 };
}
