// Lists and changes the sites that an operator may manage. Only operators of all sites may add and remove sites.

import { toConnectableUrl } from "../../lib/networks.ts";
import { ProblemError } from "../../model/errors.ts";
import { listKeys } from "../../operator/keys.ts";
import { createSites } from "../../operator/site-creation.ts";
import { removeSite } from "../../operator/site-removal.ts";
import { setSite, summarizeSite } from "../../operator/sites.ts";
import { listWebhooks } from "../../operator/webhook-list.ts";
import { type SiteRecord, splitWords } from "../../system/system-records.ts";
import { type Action, type ActionContext, requireAllSites } from "../action-routes.ts";
import { parseBoolean, parseOptionalText, parseText, parseTexts } from "../json-body.ts";
import type { TrafficHistory } from "../traffic.ts";
import type {
  NewSiteBody,
  NewSiteResponse,
  OverviewResponse,
  SiteBody,
  SiteInfo,
  SiteResponse,
  SiteSummaryResponse,
  SitesResponse,
  TrafficResponse,
} from "./types.ts";

const list = "/operator/sites";
const one = `${list}/{site}`;

export const siteActions: readonly Action[] = [
  ["GET", list, listOwnSites],
  ["POST", list, add, "all"],
  ["GET", one, show],
  ["PATCH", one, change],
  ["DELETE", one, remove, "all"],
];

async function listOwnSites(call: ActionContext): Promise<SitesResponse> {
  return { sites: (await call.sites()).map(toShown), publicUrl: toConnectableUrl(call.publicUrl) };
}

/** Adds a site. The key is only in this response. */
async function add(call: ActionContext): Promise<NewSiteResponse> {
  const input = await call.input<NewSiteBody>();
  const settings = {
    name: parseText(input, "name"),
    hostnames: parseTexts(input, "hostnames") ?? [],
    isDefault: parseBoolean(input, "isDefault") ?? false,
  };
  const [added] = await createSites(call.engine, [settings], parseBoolean(input, "withKey") ?? false, call.now());
  if (!added) throw new Error("the site was not added");
  return { site: toShown(added.site), key: added.key ?? null, run: call.run };
}

/** Returns a site with the numbers of its records, keys and webhooks, which a removal would delete. */
async function show(call: ActionContext): Promise<SiteSummaryResponse> {
  const { Name } = await call.site();
  const { site, changed, ...summary } = await summarizeSite(call.engine, Name, call.now());
  return { ...summary, site: toShown(site), changed: changed?.toISOString() ?? null };
}

async function change(call: ActionContext): Promise<SiteResponse> {
  const { Name } = await call.site();
  const input = await call.input<SiteBody>();
  const settings = {
    name: parseOptionalText(input, "name"),
    hostnames: parseTexts(input, "hostnames"),
    isDefault: parseBoolean(input, "isDefault"),
    isSuspended: parseBoolean(input, "isSuspended"),
  };
  // Only an operator of all sites may change this, because it also changes another site: the present default site.
  if (settings.isDefault !== undefined) requireAllSites(call.session);
  if (Object.values(settings).every((value) => value === undefined)) {
    throw new ProblemError("bad-request", "send what changes: `name`, `hostnames`, `isDefault` or `isSuspended`");
  }
  const changed = await setSite(call.engine, Name, settings, call.now()).catch((error) => {
    throw hideOtherSites(error, call);
  });
  return { site: toShown(changed), run: call.run };
}

/** Removes a site. As a confirmation, the body has the name of the site: `{"name": "garden"}`. */
async function remove(call: ActionContext): Promise<SiteResponse> {
  const { Name } = await call.site();
  if (parseText(await call.input<Pick<SiteInfo, "name">>(), "name") !== Name) {
    throw new ProblemError("bad-request", `to remove the site, send its name: {"name":"${Name}"}`);
  }
  return { site: toShown(await removeSite(call.engine, Name, call.now())), run: call.run };
}

/** Hides in a `conflict` which other site has a name or hostname, if the operator may not manage all sites. */
function hideOtherSites(error: unknown, { session }: ActionContext): unknown {
  if (!(error instanceof ProblemError) || error.code !== "conflict" || !session.operator.siteNames) return error;
  return new ProblemError("conflict", "the name or a hostname is taken already");
}

function toShown({ ID, Name, Hostnames, Default, Suspended, Importing }: SiteRecord): SiteInfo {
  return {
    id: ID,
    name: Name,
    hostnames: splitWords(Hostnames),
    isDefault: Default === "yes",
    suspended: Suspended || null,
    importing: Importing || null,
  };
}

// The overview, which operators see first: whether all is well.

/** Milliseconds before its expiry from which on a key is in the overview: 30 days. */
const soon = 30 * 24 * 60 * 60_000;

export function overviewActions(traffic: TrafficHistory): readonly Action[] {
  return [
    ["GET", "/operator/traffic", async () => showTraffic(traffic), "all"],
    ["GET", "/operator/sites/{site}/overview", overview],
  ];
}

function showTraffic({ points }: TrafficHistory): TrafficResponse {
  return { points: points.map((point) => ({ ...point, at: toTime(point.at) })) };
}

/** Returns the overview of a site: its records, the keys that expire soon, the webhooks, and the time of the last backup. */
async function overview(call: ActionContext): Promise<OverviewResponse> {
  const { engine, now } = call;
  const site = await call.site();
  const [summary, keys, webhooks, lastBackup] = [
    await summarizeSite(engine, site.Name, now()),
    await listKeys(engine, site),
    await listWebhooks(engine, site),
    await engine.readLastBackupTime(),
  ];
  const ending = keys.filter(({ endsAt }) => endsAt > now() && endsAt < now() + soon);
  return {
    records: summary.records,
    validKeys: summary.validKeys,
    changed: summary.changed?.toISOString() ?? null,
    endingKeys: ending.map(({ ID, Label, Prefix, endsAt }) => ({
      id: ID,
      label: Label,
      prefix: Prefix,
      ends: toTime(endsAt),
    })),
    webhooks: webhooks.map(({ ID, URL: url, status, detail, lag }) => ({
      id: ID,
      url,
      status,
      detail,
      behind: lag ?? null,
    })),
    lastBackup: lastBackup === undefined ? null : toTime(lastBackup),
  };
}

function toTime(at: number): string {
  return new Date(at).toISOString();
}
