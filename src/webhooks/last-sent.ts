// Remembers the last event that this process sent for each webhook, to detect that the database has lost changes which were delivered.
//
// A failover can lose commits. The database then has neither the last changes nor the cursor after their delivery, and later changes get the same
// revisions. A page of these would not continue what the receiver has.

import type { WebhookState } from "../model/webhooks.ts";
import { detectCursorEntryLoss, type JournalReads } from "../store/changes/feed.ts";
import { revisionInCursor } from "../store/database/cursor.ts";

interface SentEvent {
  /** The `Next` of the event. */
  readonly cursor: string;
  readonly epoch: string;
  readonly rewinds: number;
}

/** The last event that this process sent for each webhook, accepted or not. */
export class LastSent {
  readonly #events = new Map<number, SentEvent>();

  trackSent({ webhook, epoch, rewinds }: WebhookState, cursor: string): void {
    this.#events.set(webhook, { cursor, epoch, rewinds });
  }

  /** Removes all webhooks but these. */
  keep(webhooks: ReadonlyMap<number, unknown>): void {
    for (const webhook of this.#events.keys()) if (!webhooks.has(webhook)) this.#events.delete(webhook);
  }

  /** Whether this process has sent more than the state says: an attempt is in flight or failed, or the database has lost its last commits. */
  isAhead(state: WebhookState): boolean {
    const sent = this.#sentIn(state);
    return (
      sent !== undefined &&
      (sent.rewinds > state.rewinds || revisionInCursor(sent.cursor) > revisionInCursor(state.cursor))
    );
  }

  /** Whether the database has lost changes that this process has sent, although the epoch of the site is the same. */
  async isLost(state: WebhookState, engine: JournalReads): Promise<boolean> {
    const sent = this.#sentIn(state);
    if (!sent || sent.cursor === state.cursor) return false;
    return sent.rewinds > state.rewinds || (await detectCursorEntryLoss(engine, state.site, sent.cursor, state.epoch));
  }

  /**
   * Returns the next number of rewinds, higher than in any event that this process has sent. Other processes then ignore their own last events.
   */
  nextRewind({ webhook, rewinds }: WebhookState): number {
    return Math.max(rewinds, this.#events.get(webhook)?.rewinds ?? 0) + 1;
  }

  /**
   * Returns the last event if it was sent in the present epoch and after the last rewind; otherwise undefined. After a change of the epoch, the
   * receiver gets `storefront.gone` in any case.
   */
  #sentIn({ webhook, epoch, rewinds }: WebhookState): SentEvent | undefined {
    const sent = this.#events.get(webhook);
    return sent && sent.epoch === epoch && sent.rewinds >= rewinds ? sent : undefined;
  }
}
