// The part of the consistency check (consistency-check.ts) for webhooks: each webhook has a record, a state and a secret, and its record and its state name
// the same site.

import type { DumpedRow } from "../../model/engine.ts";
import { isWebhookSecret } from "../../model/webhooks.ts";
import { tryParseCursorRevision } from "./cursor.ts";

type Row = DumpedRow["row"];

/** The rows of a webhook so far. */
interface CheckedWebhook {
  /** The site in its record; undefined if no record exists. */
  site?: number;
  /** The site in its state; undefined if no state exists. */
  stateSite?: number;
  /** Whether the cursor in its state is well-formed. */
  hasCursor?: boolean;
  /** Number of secrets without an end. There must be exactly one. */
  presentSecretCount: number;
  /** Whether all secrets are well-formed. */
  areSecretsFit: boolean;
}

/** Checks the rows of webhooks. The caller adds them in any order. */
export class WebhookChecker {
  readonly #webhooks = new Map<number, CheckedWebhook>();

  /** @param values the record of the webhook */
  addRecord(id: number, values: Readonly<Record<string, unknown>>): void {
    this.#of(id).site = Number(values.Site);
  }

  addState({ webhook_id, site_id, cursor }: Row): void {
    const webhook = this.#of(webhook_id);
    webhook.stateSite = Number(site_id);
    webhook.hasCursor = tryParseCursorRevision(String(cursor)) !== undefined;
  }

  addSecret({ webhook_id, secret, until }: Row): void {
    const webhook = this.#of(webhook_id);
    if (until === null) webhook.presentSecretCount++;
    webhook.areSecretsFit &&= isWebhookSecret(String(secret));
  }

  /** Returns the inconsistencies, after the last row. */
  finish(): string[] {
    return [...this.#webhooks].flatMap(
      ([id, webhook]) => describeWebhookFault(webhook)?.replace(/^/, `webhook ${id} `) ?? [],
    );
  }

  #of(id: unknown): CheckedWebhook {
    const webhook = this.#webhooks.get(Number(id)) ?? { presentSecretCount: 0, areSecretsFit: true };
    this.#webhooks.set(Number(id), webhook);
    return webhook;
  }
}

function describeWebhookFault({
  site,
  stateSite,
  hasCursor,
  presentSecretCount: present,
  areSecretsFit,
}: CheckedWebhook): string | undefined {
  if (site === undefined) return "has no record";
  if (stateSite === undefined)
    return "is incomplete: `webhook add` is in progress or was interrupted; if it was interrupted, remove the webhook";
  if (site !== stateSite) return `is of site ${site}, and its state of site ${stateSite}`;
  if (!hasCursor) return "has a damaged cursor";
  return present === 1 && areSecretsFit ? undefined : "has damaged secrets";
}
