// Validates the webhooks in a site file, and stores their states and secrets.
//
// Webhooks are imported paused, so that a copy of a site doesn't call their receivers. Their URLs are checked as for `webhook add`, so that a forged
// file can't point to internal addresses. What was done to them in this database still applies: a removed webhook stays removed, a changed URL stays
// changed, and a rotated secret is replaced by one that nobody knows.

import { errorMessage } from "../../lib/errors-for-log.ts";
import type { IpNetwork } from "../../lib/networks.ts";
import { randomText } from "../../lib/text.ts";
import type { DumpedRow, Engine } from "../../model/engine.ts";
import { parseNewRecord, type Values } from "../../model/record.ts";
import { createWebhookSecret, isWebhookSecret, type WebhookSecret } from "../../model/webhooks.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { tryParseCursorRevision } from "../../store/database/cursor.ts";
import { toInstant } from "../../system/system-changes.ts";
import { resolveAllowedUrl, toConsolePolicy } from "../../webhooks/address-policy.ts";
import type { RecordedLimits } from "../backup/recorded-limits.ts";
import { newWebhookState } from "../webhooks/webhook-creation.ts";
import { invalidSiteFileError, isCount, isTime, requireTime, type SystemRecordInFile } from "./site-file-rows.ts";

export interface ImportedWebhook {
  /** Its ID in the file. */
  readonly id: number;
  readonly values: Values;
}

/** A skipped webhook, and why. */
export interface OmittedWebhook {
  readonly url: string;
  readonly reason: string;
}

/** Per webhook. */
const maxSecrets = 2;

/**
 * Skips webhooks that were removed from this database, or have a URL that isn't allowed here.
 * @param allow networks that are allowed besides public ones
 * @param limits what was decided in this database
 * @throws ProblemError `invalid-record`
 */
export async function parseWebhooks(
  records: readonly SystemRecordInFile[],
  { allow, limits }: { readonly allow: readonly IpNetwork[]; readonly limits: RecordedLimits },
  now: number,
) {
  const webhooks: ImportedWebhook[] = [];
  const omitted: OmittedWebhook[] = [];
  for (const { id, values } of records) {
    const read = parseNewRecord(webhookResource, values);
    for (const field of ["Created", "Paused"]) requireTime(field, read);
    const record = { ID: id, ...read };
    const url = limits.of(webhookResource.name, record).URL ?? String(read.URL);
    const isRemoved = limits.isRemoved(webhookResource.name, record);
    const reason = isRemoved ? "it was removed from this database" : await urlFault(url, allow);
    const paused = read.Paused === "" ? { Paused: toInstant(now), Reason: "imported with its site" } : {};
    if (reason) omitted.push({ url, reason });
    else webhooks.push({ id, values: { ...read, ...paused, URL: url } });
  }
  return { webhooks, omitted };
}

/** Why a URL isn't allowed. Doesn't resolve its hostname, because `webhook resume` and every delivery do that. */
async function urlFault(url: string, allow: readonly IpNetwork[]): Promise<string | undefined> {
  try {
    await resolveAllowedUrl(url, { ...toConsolePolicy(allow), lookup: async () => [] });
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** Collects webhook states and secrets, except for webhooks that aren't imported. */
export class WebhookRows {
  readonly #ids: ReadonlyMap<number, number>;
  readonly #limits: RecordedLimits;
  readonly #states = new Map<unknown, DumpedRow["row"]>();
  readonly #secrets = new Map<unknown, WebhookSecret[]>();

  /** @param ids new webhook IDs by the IDs in the file @param limits what was decided in this database */
  constructor(ids: ReadonlyMap<number, number>, limits: RecordedLimits) {
    this.#ids = ids;
    this.#limits = limits;
  }

  /** @throws ProblemError `bad-request` if the row is damaged, or the webhook has too many rows */
  add({ table, row }: DumpedRow): void {
    const id = Number(row.webhook_id);
    if (!this.#ids.has(id)) return;
    if (table === "webhook_secrets") this.#addSecret(id, row);
    else this.#addState(id, row);
  }

  #addState(id: number, row: DumpedRow["row"]): void {
    const isFit =
      tryParseCursorRevision(String(row.cursor)) !== undefined && isEpoch(String(row.epoch)) && isCount(row.rewinds);
    if (!isFit || this.#states.has(id)) throw invalidSiteFileError(`the state of webhook ${id} is damaged`);
    this.#states.set(id, row);
  }

  #addSecret(id: number, { secret, created_at, until }: DumpedRow["row"]): void {
    const isFit = isWebhookSecret(String(secret)) && isTime(created_at) && (until === null || isTime(until));
    const secrets = this.#secrets.get(id) ?? [];
    const isTwice = until === null && secrets.some((other) => other.until === null);
    if (!isFit || isTwice || secrets.length === maxSecrets)
      throw invalidSiteFileError(`a secret of webhook ${id} is damaged`);
    const added = {
      secret: String(secret),
      createdAt: Number(created_at),
      until: until === null ? null : Number(until),
    };
    this.#secrets.set(id, [...secrets, added]);
  }

  /**
   * Stores the states without a home database, so that the webhooks only deliver once they're resumed. A webhook without a state or secret stays
   * incomplete; it may have been removed during the export.
   * @returns webhooks that got a new secret, by their IDs in the file
   */
  async store(engine: Engine, site: number): Promise<number[]> {
    const unsigned: number[] = [];
    for (const [id, webhook] of this.#ids) {
      const state = this.#states.get(id);
      let secrets = this.#secrets.get(id) ?? [];
      const present = secrets.find(({ until }) => until === null);
      if (!state || !present) continue;
      if (this.#limits.isRotated(present.secret)) {
        secrets = [{ ...present, secret: createWebhookSecret() }];
        unsigned.push(id);
      }
      const { cursor, epoch, rewinds } = state;
      // If the site had no changes, the epoch is empty, which would match any epoch.
      const carried = { cursor: String(cursor), epoch: String(epoch) || randomText(8), rewinds: Number(rewinds) };
      await engine.saveWebhook(newWebhookState({ site, webhook }, { home: "", ...carried }), secrets);
    }
    return unsigned;
  }
}

function isEpoch(text: string): boolean {
  return /^[0-9A-Za-z]{0,64}$/.test(text);
}
