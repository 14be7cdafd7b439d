// Remembers the last event this process sent for each webhook, to detect that the database has lost changes that were already delivered.
//
// If a failover loses commits, the database has neither the last changes nor the cursor that says they were delivered, and new changes get the same
// revisions. A page of those wouldn't continue from what the receiver has.

import type { WebhookState } from "../model/webhooks.ts";
import { detectCursorEntryLoss, type JournalReads } from "../store/changes/feed.ts";
import { revisionInCursor } from "../store/database/cursor.ts";

interface SentEvent {
  /** The event's `Next`. */
  readonly cursor: string;
  readonly epoch: string;
  readonly rewinds: number;
}

/** Counts events whether or not they were accepted. */
export class LastSent {
  readonly #events = new Map<number, SentEvent>();

  trackSent({ webhook, epoch, rewinds }: WebhookState, cursor: string): void {
    this.#events.set(webhook, { cursor, epoch, rewinds });
  }

  /** Forgets all other webhooks. */
  keep(webhooks: ReadonlyMap<number, unknown>): void {
    for (const webhook of this.#events.keys()) if (!webhooks.has(webhook)) this.#events.delete(webhook);
  }

  /** Whether we've sent more than the state says. An attempt is in flight or has failed, or the database has lost its last commits. */
  isAhead(state: WebhookState): boolean {
    const sent = this.#sentIn(state);
    return (
      sent !== undefined &&
      (sent.rewinds > state.rewinds || revisionInCursor(sent.cursor) > revisionInCursor(state.cursor))
    );
  }

  /** Whether the database has lost changes that we've sent, although the site's epoch is the same. */
  async isLost(state: WebhookState, engine: JournalReads): Promise<boolean> {
    const sent = this.#sentIn(state);
    if (!sent || sent.cursor === state.cursor) return false;
    return sent.rewinds > state.rewinds || (await detectCursorEntryLoss(engine, state.site, sent.cursor, state.epoch));
  }

  /** Higher than in any event that this process has sent, so that other processes ignore the last events they remember. */
  nextRewind({ webhook, rewinds }: WebhookState): number {
    return Math.max(rewinds, this.#events.get(webhook)?.rewinds ?? 0) + 1;
  }

  /**
   * The last event, unless it was sent in another epoch or before the last rewind. After a change of epoch, the receiver gets `storefront.gone` anyway.
   */
  #sentIn({ webhook, epoch, rewinds }: WebhookState): SentEvent | undefined {
    const sent = this.#events.get(webhook);
    return sent && sent.epoch === epoch && sent.rewinds >= rewinds ? sent : undefined;
  }
}
