// Finds and lists webhooks with their status, and their delivery attempts.

import { readInChunks } from "../../lib/yielding.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { publicResources } from "../../model/resource.ts";
import {
  type DeliveryAttempt,
  type DeliveryExchange,
  type KeptAttempt,
  maxWebhookExchanges,
  type WebhookRef,
  type WebhookState,
} from "../../model/webhooks.ts";
import { allResources } from "../../resources/all.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import { toInstant } from "../../system/system-changes.ts";
import {
  type KeyRecord,
  type SiteRecord,
  type SystemRecords,
  splitWords,
  toWebhook,
  type WebhookRecord,
} from "../../system/system-records.ts";
import { type Backlog, countBacklog } from "../../webhooks/backlog.ts";
import { suspensionOf } from "../sites/sandboxes.ts";

/** `incomplete`: has no state and no secret, because `webhook add` was interrupted. */
type WebhookStatus = "active" | "failing" | "paused" | "incomplete";

/** Without secrets. */
export interface ListedWebhook extends WebhookRecord {
  readonly siteName: string;
  readonly status: WebhookStatus;
  /** Why it has this status; empty for `active`. */
  readonly detail: string;
  /** Undefined if the webhook is incomplete. */
  readonly state: WebhookState | undefined;
  /** Changes it has yet to deliver; undefined if it's incomplete, or its cursor belongs to another epoch. */
  readonly backlog: Backlog | undefined;
}

/** The JSON that commands print and the console's API returns. */
export function toWebhookInfo({ state, siteName, ...webhook }: ListedWebhook) {
  const { ID: id, URL: url, Resources, Created: created, Paused, PausedBy, status, detail, backlog } = webhook;
  const { cursor = null, rewinds = 0, failures = 0, failingSince = null, nextAt = 0 } = state ?? {};
  return {
    id,
    site: siteName,
    url,
    resources: splitWords(Resources),
    created,
    key: webhook.Key || null,
    paused: Paused || null,
    pausedBy: PausedBy || null,
    status,
    detail,
    behind: backlog?.changes ?? null,
    behindIsMinimum: backlog?.isMinimum ?? false,
    cursor,
    rewinds,
    failures,
    failingSince: failingSince === null ? null : toInstant(failingSince),
    nextAt: nextAt === 0 ? null : toInstant(nextAt),
  };
}

/** The JSON that commands print and the console's API returns. */
export function toAttemptInfo<Attempt extends DeliveryAttempt>({ at, ...attempt }: Attempt) {
  return { at: toInstant(at), ...attempt };
}

/** Sites per read. */
const maxHeads = 1000;

/** Lists the webhooks of `site`, or all webhooks, by ID. */
export async function listWebhooks(engine: Engine, site?: SiteRecord): Promise<ListedWebhook[]> {
  return toListed(engine, await readSystemRecords(engine), ({ Site }) => !site || Number(Site) === site.ID);
}

/** @throws ProblemError `not-found` */
export async function getWebhook(engine: Engine, id: number): Promise<ListedWebhook> {
  const [found] = await toListed(engine, await readSystemRecords(engine), ({ ID }) => ID === id);
  if (!found) throw unknownWebhookError(id);
  return found;
}

/** The webhooks that a key, or a key it has replaced, made by API and that still exist. */
export async function listWebhooksMadeBy(
  engine: Engine,
  { Site, Prefix, Former }: KeyRecord,
): Promise<WebhookRecord[]> {
  const prefixes = [Prefix, ...splitWords(Former)];
  const { webhooks } = await readSystemRecords(engine);
  return webhooks.filter((webhook) => webhook.Site === Site && prefixes.includes(webhook.Key));
}

/** Latest first. */
export function listDeliveryAttempts(engine: Engine, webhook: WebhookRecord): Promise<readonly KeptAttempt[]> {
  return engine.readWebhookAttempts(webhookRefOf(webhook));
}

/** @throws ProblemError `not-found` if it isn't kept */
export async function getDeliveryExchange(
  engine: Engine,
  webhook: WebhookRecord,
  number: number,
): Promise<DeliveryExchange> {
  const found = await engine.readWebhookExchange(webhookRefOf(webhook), number);
  if (found) return found;
  throw new ProblemError(
    "not-found",
    `the request and response of attempt ${number} aren't available: only the last ${maxWebhookExchanges} are kept`,
  );
}

/** The webhook's record as it's stored. */
export function toWebhookRecord(webhook: ListedWebhook): WebhookRecord {
  const { ID, Site, URL: url, Resources, Created, Paused, Reason, PausedBy, Key, UID } = webhook;
  return { ID, Site, URL: url, Resources, Created, Paused, Reason, PausedBy, Key, UID };
}

/** By ID. */
function sitesOf(webhooks: readonly WebhookRecord[], system: SystemRecords): ReadonlyMap<number, SiteRecord> {
  const wanted = new Set(webhooks.map(({ Site }) => Number(Site)));
  const found = system.sites.filter(({ ID }) => wanted.has(ID));
  return new Map(found.map((site) => [site.ID, site]));
}

/** @throws ProblemError `not-found` */
export function requireWebhook(system: SystemRecords, id: number): WebhookRecord {
  const found = system.webhooks.find(({ ID }) => ID === id);
  if (!found) throw unknownWebhookError(id);
  return found;
}

function unknownWebhookError(id: number): ProblemError {
  return new ProblemError("not-found", `unknown webhook ${id}; see \`webhook list\``);
}

export function webhookRefOf({ ID, Site }: WebhookRecord): WebhookRef {
  return { site: Number(Site), webhook: ID };
}

async function toListed(
  engine: Engine,
  system: SystemRecords,
  isWanted: (record: WebhookRecord) => boolean,
): Promise<ListedWebhook[]> {
  const records = system.webhooks.filter(isWanted);
  if (records.length === 0) return [];
  const home = await engine.readDatabaseId();
  const states = new Map(
    (await engine.readWebhookStates(records.map(webhookRefOf))).map((state) => [state.webhook, state]),
  );
  const siteIds = [...new Set(records.map(({ Site }) => Number(Site)))];
  const read = await readInChunks(siteIds, maxHeads, (some) => engine.readHeads(some));
  const heads = new Map(siteIds.map((id, index) => [id, read[index] as Head]));
  const sites = sitesOf(records, system);
  const names = new Map(publicResources(allResources).map(({ path, name }) => [path, name]));
  const listed: ListedWebhook[] = [];
  for (const record of records) {
    const site = sites.get(Number(record.Site)) as SiteRecord;
    const state = states.get(record.ID);
    const { resources } = toWebhook(record, names);
    const backlog = state && (await countBacklog(engine, state, heads.get(site.ID) as Head, resources));
    const isSuspended = suspensionOf(site, system.sites) !== "";
    listed.push({ ...record, siteName: site.Name, ...statusOf(record, state, isSuspended, home), state, backlog });
  }
  return listed;
}

function statusOf(
  { Paused, Reason }: WebhookRecord,
  state: WebhookState | undefined,
  isSuspended: boolean,
  home: string,
): Pick<ListedWebhook, "status" | "detail"> {
  if (!state) return { status: "incomplete", detail: "it has no secret; remove it and add it again" };
  if (Paused !== "") return { status: "paused", detail: Reason };
  if (state.home !== home) return { status: "paused", detail: "it was copied from another database" };
  if (isSuspended) return { status: "paused", detail: "the site is suspended" };
  if (state.failures === 0 || state.failingSince === null) return { status: "active", detail: "" };
  return { status: "failing", detail: `since ${new Date(state.failingSince).toISOString()}` };
}
