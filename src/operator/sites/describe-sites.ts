// Describes a server's sites, keys and webhooks as the file that apply-sites.ts compares with a server.

import type { KeyEntry, SiteEntry, WebhookEntry } from "../../formats/sites-schema.ts";
import type { Engine } from "../../model/engine.ts";
import { toKeyRights } from "../../model/key-rights.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import {
  type KeyRecord,
  type SiteRecord,
  type SystemRecords,
  splitWords,
  toApiKey,
  type WebhookRecord,
} from "../../system/system-records.ts";
import { type ListedWebhook, listWebhooks } from "../webhooks/webhook-list.ts";
import { requireCompleteSite } from "./sites.ts";

/** What a file is compared with. */
export interface PresentSites {
  readonly system: SystemRecords;
  /** By ID. A webhook that was created since may be missing. */
  readonly webhooks: ReadonlyMap<number, ListedWebhook>;
  /** The database's ID. */
  readonly home: string;
}

export async function readPresentSites(engine: Engine): Promise<PresentSites> {
  const webhooks = new Map((await listWebhooks(engine)).map((webhook) => [webhook.ID, webhook]));
  return { system: await readSystemRecords(engine), webhooks, home: await engine.readDatabaseId() };
}

/** @param names default: all sites @throws ProblemError `not-found` for an unknown name, `conflict` for a site that's being imported */
export async function describeSites(engine: Engine, names: readonly string[], now: number): Promise<SiteEntry[]> {
  const present = await readPresentSites(engine);
  const { sites } = present.system;
  const live = names.length > 0 ? names.map((name) => requireCompleteSite(sites, name)) : sites.filter(isLive);
  const index = indexSites(present.system);
  return [...new Set(live)].sort(by(({ Name }) => Name)).map((site) => describeSite(site, index, present, now));
}

/** Whether it's in files by itself: a sandbox is part of its site, and an incomplete site isn't anyone's yet. */
export function isLive({ SandboxOf, Importing }: SiteRecord): boolean {
  return SandboxOf === "" && Importing === "";
}

interface SiteIndex {
  /** By the live site's ID. */
  readonly sandboxes: ReadonlyMap<number, SiteRecord>;
  /** By site ID: keys that can be used, or could if they hadn't expired. A key that was rotated is in its replacement's hands. */
  readonly keys: ReadonlyMap<number, readonly KeyRecord[]>;
  /** By site ID: what operators made. The others belong to the programs that made them by API. */
  readonly webhooks: ReadonlyMap<number, readonly WebhookRecord[]>;
}

export function indexSites({ sites, keys, webhooks }: SystemRecords): SiteIndex {
  const unrevoked = keys.filter(({ Revoked }) => Revoked === "");
  const former = new Set(unrevoked.flatMap(({ Former }) => splitWords(Former)));
  const complete = sites.filter(({ SandboxOf, Importing }) => SandboxOf !== "" && Importing === "");
  return {
    sandboxes: new Map(complete.map((site) => [Number(site.SandboxOf), site])),
    keys: Map.groupBy(
      unrevoked.filter(({ Prefix }) => !former.has(Prefix)),
      ({ Site }) => Number(Site),
    ),
    webhooks: Map.groupBy(
      webhooks.filter(({ Key }) => Key === ""),
      ({ Site }) => Number(Site),
    ),
  };
}

export function isExpired(key: KeyRecord, now: number): boolean {
  return toApiKey(key).endsAt <= now;
}

/** Whether it doesn't deliver until someone resumes it. Undefined if that isn't known, or it's incomplete. */
export function isStopped(webhook: WebhookRecord, { webhooks, home }: PresentSites): boolean | undefined {
  const state = webhooks.get(webhook.ID)?.state;
  return state && (webhook.Paused !== "" || state.home !== home);
}

function describeSite(site: SiteRecord, index: SiteIndex, present: PresentSites, now: number): SiteEntry {
  const sandbox = index.sandboxes.get(site.ID);
  const places = [{ id: site.ID, sandbox: {} }, ...(sandbox ? [{ id: sandbox.ID, sandbox: { sandbox: true } }] : [])];
  return {
    name: site.Name,
    hostnames: splitWords(site.Hostnames).sort(),
    default: site.Default === "yes",
    suspended: site.Suspended !== "",
    keyWebhooks: site.KeyWebhooks !== "no",
    sandbox: sandbox !== undefined,
    keys: places.flatMap(({ id, sandbox }) =>
      describeKeys((index.keys.get(id) ?? []).filter((key) => !isExpired(key, now))).map((key) => ({
        ...key,
        ...sandbox,
      })),
    ),
    webhooks: places.flatMap(({ id, sandbox }) =>
      describeWebhooks(index.webhooks.get(id) ?? [], present).map((webhook) => ({ ...webhook, ...sandbox })),
    ),
  };
}

function describeKeys(keys: readonly KeyRecord[]): KeyEntry[] {
  const isUnique = (key: KeyRecord) => key.Label !== "" && keys.filter(({ Label }) => Label === key.Label).length === 1;
  return keys.toSorted(by(({ Label, Prefix }) => `${Label}\n${Prefix}`)).map((key) => ({
    label: key.Label,
    ...(isUnique(key) ? {} : { prefix: key.Prefix }),
    ...describeRights(key),
    from: splitWords(key.Networks),
    rate: key.Rate === "" ? "default" : Number(key.Rate),
    expires: key.Expires || "never",
  }));
}

function describeRights({ Scope }: KeyRecord): Pick<KeyEntry, "scope" | "can"> {
  const { scope, text } = toKeyRights(Scope);
  const can = splitWords(text).filter((word) => word.includes(":"));
  return { ...(scope ? { scope } : {}), ...(can.length > 0 || !scope ? { can } : {}) };
}

/** Without incomplete ones, which have no secret. */
function describeWebhooks(webhooks: readonly WebhookRecord[], present: PresentSites): WebhookEntry[] {
  const isUnique = ({ URL: url }: WebhookRecord) => webhooks.filter((one) => one.URL === url).length === 1;
  return webhooks
    .filter((webhook) => isStopped(webhook, present) !== undefined)
    .sort((a, b) => (a.URL < b.URL ? -1 : a.URL > b.URL ? 1 : a.ID - b.ID))
    .map((webhook) => ({
      url: webhook.URL,
      ...(isUnique(webhook) ? {} : { id: webhook.ID }),
      resources: splitWords(webhook.Resources),
      paused: isStopped(webhook, present) === true,
    }));
}

/** Compares by code units, so that the order doesn't depend on a locale. */
function by<T>(nameOf: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0);
}
