// Lists and edits the sites an operator can access. Only operators of all sites can add or remove sites.

import { toConnectableUrl } from "../../lib/networks.ts";
import { ProblemError } from "../../model/errors.ts";
import { makeSandbox } from "../../operator/sandbox/make-sandbox.ts";
import { withSandboxesBelow } from "../../operator/sites/sandboxes.ts";
import { createSites } from "../../operator/sites/site-creation.ts";
import { removeSite } from "../../operator/sites/site-removal.ts";
import { setSite, summarizeSite, TakenNameError, toSiteInfo } from "../../operator/sites/sites.ts";
import { type Action, type ActionContext, requireOperatorOfAllSites } from "../action-routes.ts";
import { parseBoolean, parseOptionalText, parseText, parseTexts } from "../json-body.ts";
import { LongWork } from "../long-work.ts";
import { withReauthorization } from "../reauthorized-engine.ts";
import type {
  NewSiteBody,
  NewSiteResponse,
  SandboxResponse,
  SiteBody,
  SiteInfo,
  SiteResponse,
  SiteSummaryResponse,
  SitesResponse,
} from "./types.ts";

const list = "/operator/sites";
const one = `${list}/{site}`;

/** @param stopping aborted when the admin listener stops */
export function siteActions(stopping: AbortSignal): readonly Action[] {
  return [
    ["GET", list, "read", listOwnSites],
    ["POST", list, "settings", add, "operators of all sites"],
    ["GET", one, "read", show],
    ["PATCH", one, "settings", change],
    ["DELETE", one, "settings", remove, "operators of all sites"],
    ["POST", `${one}/sandbox`, "settings", (call) => renewSandbox(call, stopping)],
  ];
}

/** At most two sandboxes are copied at once, because each reads a site in one transaction, on its own connection. */
const sandboxes = new LongWork(2);

/** Lists sites, each sandbox right below its live site. */
async function listOwnSites(call: ActionContext): Promise<SitesResponse> {
  const sites = await call.sites();
  return {
    sites: withSandboxesBelow(sites).map((site) => toSiteInfo(site, sites)),
    publicUrl: toConnectableUrl(call.publicUrl),
  };
}

/** Adds a site. If it gets a key, only this response contains it. */
async function add(call: ActionContext): Promise<NewSiteResponse> {
  const input = await call.input<NewSiteBody>();
  const settings = {
    name: parseText(input, "name"),
    hostnames: parseTexts(input, "hostnames") ?? [],
    isDefault: parseBoolean(input, "isDefault") ?? false,
  };
  const keySettings = parseBoolean(input, "withKey") ? { rights: ["read"] } : undefined;
  const [added] = await createSites(call.engine, [settings], keySettings, call.now());
  if (!added) throw new Error("the site was not added");
  return { site: toSiteInfo(added.site, [added.site]), key: added.key ?? null, run: call.run };
}

/** Returns a site and the number of records, keys and webhooks that removing it would delete. */
async function show(call: ActionContext): Promise<SiteSummaryResponse> {
  const { Name } = await call.site();
  const { site, changed, ...summary } = await summarizeSite(call.engine, Name, call.now());
  return { ...summary, site: toSiteInfo(site, await call.sites()), changed: changed?.toISOString() ?? null };
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
  // This changes another site too, the current default, so only operators of all sites can do it.
  if (settings.isDefault !== undefined) requireOperatorOfAllSites(call);
  if (Object.values(settings).every((value) => value === undefined)) {
    throw new ProblemError("bad-request", "send at least one of `name`, `hostnames`, `isDefault` and `isSuspended`");
  }
  const changed = await setSite(call.engine, Name, settings, call.now()).catch((error) => {
    throw hideOtherSites(error, call);
  });
  return { site: toSiteInfo(changed, [changed]), run: call.run };
}

/** Removes a site. The body confirms its name: `{"name": "garden"}`. */
async function remove(call: ActionContext): Promise<SiteResponse> {
  const { Name } = await call.site();
  if (parseText(await call.input<Pick<SiteInfo, "name">>(), "name") !== Name) {
    throw new ProblemError("bad-request", `to remove the site, send its name: {"name":"${Name}"}`);
  }
  const sites = await call.sites();
  return { site: toSiteInfo(await removeSite(call.engine, Name, call.now()), sites), run: call.run };
}

/**
 * Creates or refreshes a site's sandbox, and responds once the copy is complete, which takes about a minute for a million records. The copy stops if
 * the operator is signed out, removed or loses access to the site, and also when the admin listener stops. Otherwise the exiting process would cut it
 * off, and the site couldn't be copied again for a minute.
 */
async function renewSandbox(call: ActionContext, stopping: AbortSignal): Promise<SandboxResponse> {
  const live = await call.site();
  const engine = withReauthorization(call, "copy", live, { outlivesSession: false });
  const options = { now: call.now, signal: stopping, removalEngine: call.engine };
  const made = await sandboxes.run(call, () => makeSandbox(engine, live.Name, options));
  const { site, live: present, leftover: _, ...counts } = made;
  return { ...counts, site: toSiteInfo(site, [present]), run: call.run };
}

/** Doesn't reveal which other site has a name or hostname, unless the operator manages all sites. */
function hideOtherSites(error: unknown, { session }: ActionContext): unknown {
  if (!(error instanceof TakenNameError) || !session.operator.siteNames) return error;
  return new ProblemError("conflict", "that name or hostname is already taken");
}
