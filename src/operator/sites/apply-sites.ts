// Makes a server's sites, keys and webhooks match a file (`storefront apply`).
//
// `planSites` compares the file with the server. `applySites` first commits all changes of records in one transaction, including removals, and then does
// what can't be part of it: it gives new webhooks their secrets, copies sandboxes, changes webhooks, and deletes the rest of removed sites. The
// transaction plans again, and stops if there's now anything in the plan that the operator hasn't confirmed. What someone else has done in the meantime is
// no longer in the plan, so two runs at once don't create anything twice, and the next run continues one that was interrupted.
//
// Secrets are handed over before the transaction. If the run is then killed, the worst that's left is a secret that nothing accepts, or a webhook without
// one, which the next run replaces.

import type { Mistakes } from "../../formats/yaml.ts";
import { createApiKey } from "../../model/api-key.ts";
import type { Intent } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { createWebhookSecret } from "../../model/webhooks.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import {
  commitSystemChanges,
  toCreateIntent,
  toDeleteIntent,
  toInstant,
  toUpdateIntent,
} from "../../system/system-changes.ts";
import {
  type KeyRecord,
  type SiteRecord,
  type SystemRecords,
  splitWords,
  toSite,
  type WebhookRecord,
} from "../../system/system-records.ts";
import type { AddressPolicy } from "../../webhooks/address-policy.ts";
import { makeSandbox } from "../sandbox/make-sandbox.ts";
import { resolveDeliveryStart } from "../webhooks/delivery-start.ts";
import { maxWebhooksOfSite, requireWebhookRoom, saveNewWebhook } from "../webhooks/webhook-creation.ts";
import { webhookRefOf } from "../webhooks/webhook-list.ts";
import { changeWebhookUrl, operatorPause, pauseWebhook, removeWebhook, resumeWebhook } from "../webhooks/webhooks.ts";
import { createKeyIntent } from "./keys.ts";
import { requireSandboxName } from "./sandboxes.ts";
import { completeRemovals, toRemovalIntents } from "./site-removal.ts";
import { requireChangeableSite, summarizeSite } from "./sites.ts";
import {
  compare,
  type Entry,
  kinds,
  type Owned,
  type OwnedKind,
  readPresentSites,
  type SiteEntry,
  showText,
} from "./sites-file.ts";

interface PlanOptions {
  /** Whether to remove what isn't in the file. */
  readonly prune: boolean;
  /** How many sites with records or valid keys may be removed. */
  readonly allowRemovals: number;
  readonly policy: AddressPolicy;
  readonly mistakes: Mistakes;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** What isn't in the file, and stays because `prune` is false. */
  readonly leftAlone: readonly Step[];
}

/** One line of the plan. */
export interface Step {
  readonly action: "create" | "change" | "remove";
  readonly kind: "site" | "sandbox" | "key" | "webhook";
  /** Its name. */
  readonly site: string;
  /** A key's label or prefix, or a webhook's URL. */
  readonly name?: string;
  readonly details: readonly string[];
  /** The site to remove, and what it has. */
  readonly removed?: SiteRecord;
  readonly lost?: { readonly records: number; readonly keys: number; readonly webhooks: number };
  /** Committed in one transaction. */
  readonly intents?: readonly Intent[];
  readonly secret?: IssuedSecret;
  /** What's to be done after the transaction. @param body the record of the last intent */
  readonly run?: (engine: Engine, body: string) => Promise<unknown>;
}

/** What nobody can see again. */
export interface IssuedSecret {
  readonly site: string;
  readonly label?: string;
  readonly key?: string;
  readonly url?: string;
  readonly secret?: string;
}

/** Stores secrets durably. Blocks until then. @throws ProblemError `unavailable` */
export type SecretStore = (secrets: readonly IssuedSecret[]) => void;

/** In one transaction. */
const maxIntents = 10_000;

const signs = { create: "+", change: "~", remove: "-" };

/** Two steps with the same text do the same. */
export function stepText({ action, kind, site, name, details }: Step): string {
  const what =
    name !== undefined
      ? `${kind} ${showText(name)} at ${site}`
      : kind === "site"
        ? `site ${site}`
        : `sandbox of ${site}`;
  return `${signs[action]} ${what}${details.length > 0 ? `: ${details.join("; ")}` : ""}`;
}

/** One that exists or will. */
type Site = Pick<SiteRecord, "ID" | "Name">;

/** @param known the records, if they've been read @throws ProblemError `invalid-record` with all mistakes, `too-large` */
export async function planSites(
  engine: Engine,
  wanted: readonly SiteEntry[],
  { prune, mistakes, policy }: PlanOptions,
  known?: SystemRecords,
): Promise<Plan> {
  const now = Date.now();
  const system = known ?? (await readSystemRecords(engine));
  const present = await readPresentSites(engine, system, now);
  const steps: Step[] = [];
  const removals: Step[] = [];
  const names = new Map(wanted.map((entry) => [entry.name, entry]));
  const sites = [...system.sites, ...wanted.map(({ name }) => ({ Name: name }) as SiteRecord)];
  const taken = new Set(system.sites.map(({ Name }) => Name));
  const defaultSite = wanted.find((entry) => entry.default);
  const owners = new Map<string, string>();
  let nextSiteId = system.nextSiteId;

  const reject = (entry: object, member: string | number, detail: string) =>
    mistakes.add(mistakes.placeOf(entry, member), detail);

  const planSite = (entry: SiteEntry) => {
    const { keys, webhooks, ...own } = entry;
    const { name, hostnames = [], sandbox: hasSandbox } = own;
    const before = present.get(name);
    if (!before && taken.has(name))
      return void mistakes.check(mistakes.placeOf(entry, "name"), () => requireChangeableSite(system.sites, name));
    for (const [at, host] of hostnames.entries()) {
      const owner = owners.get(host) ?? name;
      const how = names.has(owner) ? "" : `; to rename that site, use \`site set ${owner} --name ${name}\``;
      if (owner !== name)
        reject(hostnames, at, `the hostname \`${host}\` already belongs to the site \`${owner}\`${how}`);
      owners.set(host, name);
    }
    // There's at most one default site.
    const isReplaced = before?.entry.default && defaultSite && defaultSite !== entry;
    const settings = isReplaced ? { default: false, ...own } : own;
    const { values, details } = compare(kinds.site, settings, before?.entry, now);
    const site = before?.record ?? { ID: nextSiteId++, Name: name };
    const step = { kind: "site", site: name } as const;
    if (!before) {
      const intents = [toCreateIntent(siteResource, values, now, site.ID)];
      steps.push({ ...step, action: "create", details, intents });
    } else if (details.length > 0)
      steps.push({ ...step, action: "change", details, intents: [toUpdateIntent(siteResource, site.ID, values, now)] });
    if (hasSandbox && !before?.sandbox) {
      mistakes.check(mistakes.placeOf(entry, "sandbox"), () => requireSandboxName(sites, site as SiteRecord));
      const run = (engine: Engine) => makeSandbox(engine, name, { now: Date.now });
      steps.push({ ...step, action: "create", kind: "sandbox", details: [], run });
    }
    if (hasSandbox === false && before?.sandbox) removeSite("sandbox", name, before.sandbox);
    if (keys) planOwned(kinds.key, keys, before?.keys, site, planKey, revokeKey);
    if (!webhooks) return;
    for (const { ID, URL: url } of before?.incomplete ?? []) {
      const list = webhooks.some((webhook) => webhook.url === url) ? steps : removals;
      const intents = [toDeleteIntent(webhookResource, ID, now)];
      list.push({ action: "remove", kind: "webhook", site: name, name: url, details: ["incomplete"], intents });
    }
    const left = planOwned(kinds.webhook, webhooks, before?.webhooks, site, planWebhook, removeHook);
    const added = webhooks.length - (before?.webhooks.length ?? 0) + (prune ? 0 : left);
    const others = added > 0 ? system.webhooks.filter((webhook) => Number(webhook.Site) === site.ID).length : 0;
    if (others + added > maxWebhooksOfSite)
      reject(webhooks, "", `${name} can't have more than ${maxWebhooksOfSite} webhooks; remove some first`);
  };

  /** @returns how many aren't in the file */
  const planOwned = <T>(
    { kind, by, handle }: OwnedKind,
    entries: readonly Entry[],
    owned: readonly Owned<T>[] = [],
    site: Site,
    plan: (entry: Entry, found: Owned<T> | undefined, site: Site) => void,
    remove: (record: T, site: Site) => void,
  ) => {
    const free = new Set(owned);
    // What's named by its handle can't be meant by another entry.
    for (const entry of entries.toSorted((a, b) => Number(handle in b) - Number(handle in a))) {
      const sent = entry[handle];
      const isMeant = (one: Owned<T>) => (sent ? one.handles.includes(`${sent}`) : one.entry[by] === entry[by]);
      const [found, ...others] = [...free].filter(isMeant);
      if (found) free.delete(found);
      if (others.length === 0 && (found || !sent)) {
        plan(entry, found, site);
        continue;
      }
      const what = found
        ? `${others.length + 1} ${kind}s at ${site.Name} have this ${by}`
        : `${site.Name} has no ${kind} with this ${handle}`;
      const how = found
        ? `and add the \`${handle}\` of the one you mean`
        : `or leave out \`${handle}\` to create a new one`;
      reject(entry, sent ? handle : by, `${what}; see \`${kind} list --site ${site.Name}\`, ${how}`);
    }
    for (const { record } of free) remove(record, site);
    return free.size;
  };

  const planKey = (entry: Entry, found: Owned<KeyRecord> | undefined, { ID: id, Name: site }: Site) => {
    const settings = { ...(found ? {} : { can: ["write"] }), ...entry, prefix: undefined };
    const created = found ? Date.parse(found.record.Created) : now;
    const { values, details } = compare(kinds.key, settings, found?.entry, created);
    if (found && details.length > 0) {
      const { ID, Label, Prefix } = found.record;
      const intents = [toUpdateIntent(keyResource, ID, values, now)];
      steps.push({ action: "change", kind: "key", site, name: Label || Prefix, details, intents });
    }
    // The file may be older than the day when the key expired.
    if (found || Date.parse(`${values.Expires}`) <= now) return;
    const label = `${entry.label}`;
    const { key } = createApiKey();
    const step = { action: "create", kind: "key", site, name: label, details } as const;
    steps.push({ ...step, intents: [createKeyIntent(id, values, key, now)], secret: { site, label, key } });
  };

  const revokeKey = ({ ID, Label, Prefix, Former }: KeyRecord, { Name: site }: Site) => {
    // Those it has replaced may still be accepted for a while.
    const former = new Set(splitWords(Former));
    const replaced = former.size > 0 ? system.keys.filter((key) => former.has(key.Prefix) && !key.Revoked) : [];
    const ids = [ID, ...replaced.map((key) => key.ID)];
    const intents = ids.map((id) => toUpdateIntent(keyResource, id, { Revoked: toInstant(now) }, now));
    const details = [`prefix ${Prefix}`];
    removals.push({ action: "remove", kind: "key", site, name: Label || Prefix, details, intents });
  };

  const planWebhook = (entry: Entry, found: Owned<WebhookRecord> | undefined, { ID: id, Name: site }: Site) => {
    const { values, details } = compare(kinds.webhook, { ...entry, id: undefined }, found?.entry, now);
    const { Resources, Paused } = values;
    const step = { kind: "webhook", site, details } as const;
    if (found) {
      const { ID, URL: name, Resources: sends } = found.record;
      const run = async (engine: Engine) => {
        if (Paused) await pauseWebhook(engine, ID, Date.now());
        if (values.URL) await changeWebhookUrl(engine, ID, `${values.URL}`, policy, Date.now());
        if (Paused === "") await resumeWebhook(engine, ID, policy, Date.now());
      };
      const how = `remove it with \`webhook remove ${ID}\`, and the next run adds it with a new secret`;
      if (Resources !== undefined)
        reject(entry, "resources", `this webhook sends ${sends || "everything"}, which can't be changed; ${how}`);
      if (details.length > 0) steps.push({ ...step, action: "change", name, run });
      return;
    }
    const secret = { site, url: `${entry.url}`, secret: createWebhookSecret() };
    const all = { Site: `${id}`, Created: toInstant(now), ...values, Reason: entry.paused ? operatorPause : "" };
    const intents = [toCreateIntent(webhookResource, all, now)];
    const run = (engine: Engine, body: string) => completeWebhook(engine, JSON.parse(body), secret.secret);
    steps.push({ ...step, action: "create", name: secret.url, intents, secret, run });
  };

  const removeHook = ({ ID, URL: name }: WebhookRecord, { Name: site }: Site) => {
    const run = (engine: Engine) => removeWebhook(engine, ID, Date.now());
    removals.push({ action: "remove", kind: "webhook", site, name, details: [], run });
  };

  const removeSite = (kind: "site" | "sandbox", name: string, removed: SiteRecord) => {
    const run = (engine: Engine) => completeRemovals(engine, Date.now());
    const intents = toRemovalIntents(system, removed, now);
    removals.push({ action: "remove", kind, site: name, details: [], removed, intents, run });
  };

  for (const { Name: name, ...site } of system.sites)
    if (names.has(name) ? !names.get(name)?.hostnames : !prune || !present.has(name))
      for (const host of toSite({ Name: name, ...site }).hostnames) owners.set(host, name);
  for (const [name, { record, entry }] of present) {
    if (names.has(name)) continue;
    removeSite("site", name, record);
    if (entry.default && defaultSite && !prune) planSite({ name });
  }
  for (const entry of wanted) planSite(entry);
  requireWebhookRoom(system, steps.filter(({ kind, action }) => kind === "webhook" && action === "create").length);
  mistakes.throwIfAny();
  if (prune) steps.push(...removals);
  const changes = steps.reduce((sum, { intents = [] }) => sum + intents.length, 0);
  if (changes > maxIntents)
    throw new ProblemError(
      "too-large",
      `a run can have up to ${maxIntents} changes, not ${changes}; apply fewer sites at a time, without --prune`,
    );
  for (const [at, step] of steps.entries()) {
    if (!step.removed) continue;
    const { records, validKeys: keys, webhooks } = await summarizeSite(engine, step.removed.Name, now);
    const lost = { records: Object.values(records).reduce((sum, count) => sum + count, 0), keys, webhooks };
    steps[at] = { ...step, lost };
  }
  return { steps, leftAlone: prune ? [] : removals };
}

/** @throws ProblemError `bad-request` if more sites with records or valid keys would be removed than that's allowed for */
export function requireAllowedRemovals({ steps }: Plan, { allowRemovals }: PlanOptions): void {
  const used = steps.filter(({ lost }) => lost && lost.records + lost.keys > 0);
  if (used.length <= allowRemovals) return;
  const names = used.slice(0, 10).map(({ site }) => site);
  const detail = `this would remove sites that have records or keys in use (${names.join(", ")}), which can't be undone; if that's what you want, add --allow-removals ${used.length}. To rename a site, use \`site set <name> --name <new>\``;
  throw new ProblemError("bad-request", detail);
}

/** Gives a new webhook its secret. It starts with the next change. */
async function completeWebhook(engine: Engine, record: WebhookRecord, secret: string): Promise<void> {
  try {
    const start = await resolveDeliveryStart(engine, Number(record.Site), "now");
    await saveNewWebhook(engine, record.ID, start, secret, Date.now());
  } catch (error) {
    // If another run has replaced the webhook in the meantime, this one's state mustn't stay.
    await engine.deleteWebhook(webhookRefOf(record)).catch(() => {});
    throw error;
  }
}

/**
 * Commits a plan: all or none of the sites, keys and webhooks are created and removed.
 * @param confirmed what may be done
 * @param handOver is called at most once
 * @returns does the rest. If it's interrupted, the next run continues
 * @throws ProblemError `conflict` if something in the database has changed so that more would have to be done, or less after secrets were handed over
 */
export async function applySites(
  engine: Engine,
  wanted: readonly SiteEntry[],
  options: PlanOptions,
  confirmed: Plan,
  handOver: SecretStore,
): Promise<() => Promise<void>> {
  const texts = new Set(confirmed.steps.map(stepText));
  let steps: readonly Step[] = [];
  let handedOver: string | undefined;
  const bodies = await commitSystemChanges(engine, async (system) => {
    const plan = await planSites(engine, wanted, options, system);
    requireAllowedRemovals(plan, options);
    const unforeseen = plan.steps.map(stepText).find((text) => !texts.has(text));
    if (unforeseen) throw conflictError(`this would have to be done too: ${unforeseen}`);
    // If someone else was faster, but nothing has changed that matters here, the secrets are still right.
    const decision = `${system.nextSiteId}\n${plan.steps.map(stepText).join("\n")}`;
    if (handedOver !== undefined && handedOver !== decision)
      throw conflictError(
        "the keys and secrets that were handed over don't work. If they've replaced others in a vault, rotate those",
      );
    steps = plan.steps.map((step, at) => (handedOver !== undefined && step.secret ? (steps[at] as Step) : step));
    const secrets = steps.flatMap(({ secret }) => secret ?? []);
    if (secrets.length > 0 && handedOver === undefined) {
      handOver(secrets);
      handedOver = decision;
    }
    return steps.flatMap(({ intents = [] }) => intents);
  });
  return async () => {
    // Webhooks get their secrets first, because copying a sandbox can take long.
    let end = 0;
    for (const { intents = [], secret, run } of steps) {
      end += intents.length;
      if (secret) await run?.(engine, bodies[end - 1] ?? "");
    }
    for (const { secret, run } of steps) if (!secret) await run?.(engine, "");
  };
}

function conflictError(detail: string): ProblemError {
  return new ProblemError(
    "conflict",
    `someone else has changed the sites in the meantime, so ${detail}; run the command again`,
  );
}
