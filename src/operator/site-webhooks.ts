// The webhooks of a site in a file of `export-site`. They arrive paused, so that a copy of a site delivers nothing by itself, and their
// URLs are judged as for saving, so that a forged file cannot name an address inside.

import { randomText } from "../lib/base62.ts";
import type { IpNetwork } from "../lib/networks.ts";
import { messageOf } from "../lib/thrown.ts";
import type { DumpedRow } from "../model/dump.ts";
import type { Engine } from "../model/engine.ts";
import { readNewRecord, type Values } from "../model/record.ts";
import { isWebhookSecret } from "../model/webhook-secret.ts";
import type { WebhookSecret } from "../model/webhooks.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import { revisionInCursor } from "../store/feed-cursor.ts";
import { requireAllowed } from "../webhooks/addresses.ts";
import { requireTime } from "./site-claim.ts";
import { isCount, isTime, type SystemRecord, unfit } from "./site-rows.ts";
import { toInstant } from "./system.ts";
import { newWebhookState } from "./webhook-add.ts";

/** A webhook's record in a file, validated. */
export interface ImportedWebhook {
  /** Its ID in the file. */
  readonly id: number;
  readonly values: Values;
}

/** A webhook that is not imported, and why. */
export interface OmittedWebhook {
  readonly url: string;
  readonly reason: string;
}

/** Secrets of a webhook at most. */
const maxSecrets = 2;

/**
 * Validates the records of webhooks. Those with a URL that is not allowed here are left out.
 * @param allow networks that are allowed although they are not public
 * @throws Refusal `invalid-record`
 */
export async function readWebhooks(records: readonly SystemRecord[], allow: readonly IpNetwork[], now: number) {
  const webhooks: ImportedWebhook[] = [];
  const omitted: OmittedWebhook[] = [];
  for (const { id, values } of records) {
    const read = readNewRecord(webhookResource, values);
    for (const field of ["Created", "Paused"]) requireTime(field, read);
    const url = String(read.URL);
    const reason = await urlFault(url, allow);
    const paused = read.Paused === "" ? { Paused: toInstant(now), Reason: "it was imported with its site" } : {};
    if (reason) omitted.push({ url, reason });
    else webhooks.push({ id, values: { ...read, ...paused } });
  }
  return { webhooks, omitted };
}

/** Why a URL is not allowed. Names are not resolved here: `webhook resume` and each delivery do that. */
async function urlFault(url: string, allow: readonly IpNetwork[]): Promise<string | undefined> {
  try {
    await requireAllowed(url, { allow, isLoopbackAllowed: false, lookup: async () => [] });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** What a file has of webhooks beside their records. Rows of webhooks that are not imported are skipped. */
export class WebhookRows {
  readonly #ids: ReadonlyMap<number, number>;
  readonly #states = new Map<unknown, DumpedRow["row"]>();
  readonly #secrets = new Map<unknown, WebhookSecret[]>();

  /** @param ids the IDs of the webhooks by their IDs in the file */
  constructor(ids: ReadonlyMap<number, number>) {
    this.#ids = ids;
  }

  /** @throws Refusal `bad-request` when the row is damaged, or one too many */
  add({ table, row }: DumpedRow): void {
    const id = Number(row.webhook_id);
    if (!this.#ids.has(id)) return;
    if (table === "webhook_secrets") this.#addSecret(id, row);
    else this.#addState(id, row);
  }

  #addState(id: number, row: DumpedRow["row"]): void {
    const isFit =
      revisionInCursor(String(row.cursor)) !== undefined && isEpoch(String(row.epoch)) && isCount(row.rewinds);
    if (!isFit || this.#states.has(id)) throw unfit(`the state of webhook ${id} is damaged`);
    this.#states.set(id, row);
  }

  #addSecret(id: number, { secret, created_at, until }: DumpedRow["row"]): void {
    const isFit = isWebhookSecret(String(secret)) && isTime(created_at) && (until === null || isTime(until));
    const secrets = this.#secrets.get(id) ?? [];
    const isTwice = until === null && secrets.some((other) => other.until === null);
    if (!isFit || isTwice || secrets.length === maxSecrets) throw unfit(`a secret of webhook ${id} is damaged`);
    const added = {
      secret: String(secret),
      createdAt: Number(created_at),
      until: until === null ? null : Number(until),
    };
    this.#secrets.set(id, [...secrets, added]);
  }

  /**
   * Stores what there is of the webhooks of a site. They have no home: none delivers before it is resumed. One without a state or a secret,
   * such as one that was removed during the export, stays incomplete.
   */
  async store(engine: Engine, site: number): Promise<void> {
    for (const [id, webhook] of this.#ids) {
      const state = this.#states.get(id);
      const secrets = this.#secrets.get(id) ?? [];
      if (!state || !secrets.some(({ until }) => until === null)) continue;
      const { cursor, epoch, rewinds } = state;
      // One of a site without a history would take any for its own.
      const carried = { cursor: String(cursor), epoch: String(epoch) || randomText(8), rewinds: Number(rewinds) };
      await engine.putWebhook(newWebhookState({ site, webhook }, { home: "", ...carried }), secrets);
    }
  }
}

function isEpoch(text: string): boolean {
  return /^[0-9A-Za-z]{0,64}$/.test(text);
}
