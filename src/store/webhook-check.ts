import type { DumpedRow } from "../model/dump.ts";
import { isWebhookSecret } from "../model/webhook-secret.ts";
import { revisionInCursor } from "./feed-cursor.ts";

type Row = DumpedRow["row"];

/** What there is of a webhook. */
interface CheckedWebhook {
  /** The site in its record; undefined if there is none. */
  site?: number;
  /** The site in its state; undefined if there is none. */
  stateSite?: number;
  hasCursor?: boolean;
  /** Secrets that are valid until the next rotation: there must be one. */
  present: number;
  areSecretsFit: boolean;
}

/** Checks rows about webhooks: a record has a state and a secret, and they belong to no other. */
export class WebhookChecker {
  readonly #webhooks = new Map<number, CheckedWebhook>();

  /** @param values the record of the webhook */
  addRecord(id: number, values: Readonly<Record<string, unknown>>): void {
    this.#of(id).site = Number(values.Site);
  }

  addState({ webhook_id, site_id, cursor }: Row): void {
    const webhook = this.#of(webhook_id);
    webhook.stateSite = Number(site_id);
    webhook.hasCursor = revisionInCursor(String(cursor)) !== undefined;
  }

  addSecret({ webhook_id, secret, until }: Row): void {
    const webhook = this.#of(webhook_id);
    if (until === null) webhook.present++;
    webhook.areSecretsFit &&= isWebhookSecret(String(secret));
  }

  /** What is wrong, after the last row. */
  end(): string[] {
    return [...this.#webhooks].flatMap(([id, webhook]) => faultOf(webhook)?.replace(/^/, `webhook ${id} `) ?? []);
  }

  #of(id: unknown): CheckedWebhook {
    const webhook = this.#webhooks.get(Number(id)) ?? { present: 0, areSecretsFit: true };
    this.#webhooks.set(Number(id), webhook);
    return webhook;
  }
}

function faultOf({ site, stateSite, hasCursor, present, areSecretsFit }: CheckedWebhook): string | undefined {
  if (site === undefined) return "has no record: an older program restored the database; remove it";
  if (stateSite === undefined)
    return "is incomplete: `webhook add` is under way or was interrupted, or an older program restored it; remove it";
  if (site !== stateSite) return `is of site ${site}, and its state of site ${stateSite}`;
  if (!hasCursor) return "has a damaged cursor";
  return present === 1 && areSecretsFit ? undefined : "has damaged secrets";
}
