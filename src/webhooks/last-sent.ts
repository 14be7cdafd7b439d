// What this process has sent. A failover can lose commits: then the database has neither the last changes nor that they were delivered, and
// other changes come under the same numbers. A page of these would not continue what the receiver has.

import type { WebhookState } from "../model/webhooks.ts";
import { isMissing, type JournalReads } from "../store/changes/feed.ts";
import { cursorRevision } from "./webhook-event.ts";

interface SentEvent {
  /** The `Next` of the event. */
  readonly cursor: string;
  readonly epoch: string;
  readonly rewinds: number;
}

/** The event that was sent last of each webhook, whatever became of it. */
export class LastSent {
  readonly #events = new Map<number, SentEvent>();

  note({ webhook, epoch, rewinds }: WebhookState, cursor: string): void {
    this.#events.set(webhook, { cursor, epoch, rewinds });
  }

  /** Forgets all but these webhooks. */
  keep(webhooks: ReadonlyMap<number, unknown>): void {
    for (const webhook of this.#events.keys()) if (!webhooks.has(webhook)) this.#events.delete(webhook);
  }

  /** Whether more was sent than the state says: an attempt is under way or failed, or the database has lost its last commits. */
  isAhead(state: WebhookState): boolean {
    const sent = this.#sentIn(state);
    return (
      sent !== undefined && (sent.rewinds > state.rewinds || cursorRevision(sent.cursor) > cursorRevision(state.cursor))
    );
  }

  /** Whether the database has lost what was sent, and its history has the same epoch still. */
  async isLost(state: WebhookState, engine: JournalReads): Promise<boolean> {
    const sent = this.#sentIn(state);
    if (!sent || sent.cursor === state.cursor) return false;
    return sent.rewinds > state.rewinds || (await isMissing(engine, state.site, sent.cursor, state.epoch));
  }

  /** The number of rewinds after one more, by which other processes see that what they have sent does not count any more. */
  nextRewind({ webhook, rewinds }: WebhookState): number {
    return Math.max(rewinds, this.#events.get(webhook)?.rewinds ?? 0) + 1;
  }

  /** Undefined if nothing was sent since the state was rewound, or since another history began, of which the receiver hears anyway. */
  #sentIn({ webhook, epoch, rewinds }: WebhookState): SentEvent | undefined {
    const sent = this.#events.get(webhook);
    return sent && sent.epoch === epoch && sent.rewinds >= rewinds ? sent : undefined;
  }
}
