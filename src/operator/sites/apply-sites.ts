// Makes a server's sites, keys and webhooks what a file says (`storefront apply`).
//
// 1. `planSites` compares the file with the server. It's a pure function of both, so it can run again at any time.
// 2. `applySites` removes sites, changes records in a single transaction, copies sandboxes and changes webhooks. Before each of these steps, it plans
//    again, and stops if there's now anything in the plan that the operator hasn't confirmed. What someone else has done in the meantime is no longer
//    in the plan, so two runs at once don't create anything twice, and a run that was interrupted is continued by the next one.
//
// Secrets are handed over before anything that needs them is stored. If the run is then killed, the worst that's left is a secret that nothing accepts,
// or a webhook without a secret. The next run completes that webhook.

import type { KeyEntry, SiteEntry, WebhookEntry } from "../../formats/sites-schema.ts";
import type { Mistakes } from "../../formats/yaml.ts";
import type { Intent } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { toKeyRights } from "../../model/key-rights.ts";
import { publicResources } from "../../model/resource.ts";
import { createWebhookSecret } from "../../model/webhooks.ts";
import { allResources } from "../../resources/all.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import { commitSystemChanges, toCreateIntent, toInstant, toUpdateIntent } from "../../system/system-changes.ts";
import {
  type KeyRecord,
  type SiteRecord,
  splitWords,
  toSite,
  type WebhookRecord,
} from "../../system/system-records.ts";
import type { AddressPolicy } from "../../webhooks/address-policy.ts";
import { makeSandbox } from "../sandbox/make-sandbox.ts";
import { type DeliveryStart, resolveDeliveryStart } from "../webhooks/delivery-start.ts";
import { maxWebhooksOfSite, requireWebhookRoom, saveNewWebhook } from "../webhooks/webhook-creation.ts";
import {
  changeWebhookUrl,
  checkWebhookUrl,
  operatorPause,
  pauseWebhook,
  removeWebhook,
  resumeWebhook,
} from "../webhooks/webhooks.ts";
import { indexSites, isExpired, isLive, isStopped, type PresentSites, readPresentSites } from "./describe-sites.ts";
import { createKeyIntent, type KeyChanges, toKeyValues } from "./keys.ts";
import { requireSandboxName } from "./sandboxes.ts";
import { removeSite } from "./site-removal.ts";
import { requireChangeableSite, toSiteValues } from "./sites.ts";

/** A site in a file, checked. What's undefined is left alone. */
export interface WantedSite {
  /** Where mistakes are reported. */
  readonly entry: SiteEntry;
  readonly name: string;
  /** In normal form. */
  readonly hostnames: readonly string[] | undefined;
  readonly hasSandbox: boolean | undefined;
  readonly keys: readonly WantedKey[] | undefined;
  readonly webhooks: readonly WantedWebhook[] | undefined;
}

export interface WantedKey {
  readonly entry: KeyEntry;
  readonly changes: Omit<KeyChanges, "expiresAt">;
  /** When it expires, in milliseconds since 1970, given when it was created. Null for never. */
  readonly expiresAt: ((createdAt: number) => number | null) | undefined;
}

export interface WantedWebhook {
  readonly entry: WebhookEntry;
  /** In normal form. */
  readonly url: string;
  readonly since: DeliveryStart;
}

interface PlanOptions {
  /** Whether to remove what isn't in the file. */
  readonly prune: boolean;
  readonly policy: AddressPolicy;
  readonly mistakes: Mistakes;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** How many sites, sandboxes, keys and webhooks aren't in the file, and stay because `prune` is false. */
  readonly leftAlone: number;
}

/** One line of the plan. */
export interface Step {
  readonly sign: "+" | "~" | "-";
  readonly kind: "site" | "sandbox" | "key" | "webhook";
  /** The live site's name. */
  readonly site: string;
  /** A key's label or prefix, or a webhook's URL. */
  readonly name?: string;
  readonly inSandbox?: boolean | undefined;
  readonly details: readonly string[];
  /** For the transaction that changes records. Empty if the step's site or sandbox must be created first. */
  readonly changes?: readonly RecordChange[];
  /** The site to remove. */
  readonly removed?: SiteRecord;
  /** The webhook to complete after the transaction, because its creator was killed or is still at work. */
  readonly incomplete?: { readonly record: WebhookRecord; readonly since: DeliveryStart };
  /** What else there's to do, after the transaction. */
  readonly run?: (engine: Engine) => Promise<unknown>;
}

interface RecordChange {
  readonly intent: Intent;
  /** Changes are made in this order, because a server may apply them in several steps. */
  readonly rank: "releases a hostname" | "changes a site" | "creates a site" | "other";
  readonly secret?: IssuedSecret;
  /** The webhook that it creates. */
  readonly webhook?: { readonly step: Step; readonly since: DeliveryStart };
}

const ranks: readonly RecordChange["rank"][] = ["releases a hostname", "changes a site", "creates a site", "other"];

/** What nobody can see again. */
export interface IssuedSecret {
  readonly site: string;
  readonly sandbox?: true;
  readonly label?: string;
  readonly key?: string;
  readonly url?: string;
  readonly secret?: string;
}

/** Where secrets go. Both methods block. */
export interface SecretStore {
  /** Stores secrets durably, in place of those that were added since the last `keep`. @throws ProblemError `unavailable` */
  add(secrets: readonly IssuedSecret[]): void;
  /** What was added is in use, so it must stay. */
  keep(): void;
}

/** Per run, because records change in one transaction. */
const maxChanges = 10_000;

/** Two steps with the same text do the same. */
export function stepText({ sign, kind, site, name, inSandbox, details }: Step): string {
  const where = `${inSandbox ? "the sandbox of " : ""}${site}`;
  const what =
    kind === "site" ? `site ${site}` : kind === "sandbox" ? `sandbox of ${site}` : `${kind} ${name} at ${where}`;
  return `${sign} ${what}${details.length > 0 ? `: ${details.join("; ")}` : ""}`;
}

/** Adds to `options.mistakes` what can't be applied. @param now in milliseconds since 1970 */
export function planSites(
  present: PresentSites,
  wanted: readonly WantedSite[],
  options: PlanOptions,
  now: number,
): Plan {
  return new Planner(present, wanted, options, now).plan();
}

class Planner {
  readonly #present: PresentSites;
  readonly #wanted: readonly WantedSite[];
  readonly #options: PlanOptions;
  readonly #now: number;
  readonly #index: ReturnType<typeof indexSites>;
  readonly #live: ReadonlyMap<string, SiteRecord>;
  readonly #steps: Step[] = [];
  #leftAlone = 0;
  #nextSiteId: number;
  #newWebhooks = 0;

  constructor(present: PresentSites, wanted: readonly WantedSite[], options: PlanOptions, now: number) {
    this.#present = present;
    this.#wanted = wanted;
    this.#options = options;
    this.#now = now;
    this.#index = indexSites(present.system);
    this.#live = new Map(present.system.sites.filter(isLive).map((site) => [site.Name, site]));
    this.#nextSiteId = present.system.nextSiteId;
  }

  plan(): Plan {
    const names = new Set(this.#wanted.map(({ name }) => name));
    for (const site of this.#live.values())
      if (!names.has(site.Name)) this.#prune({ sign: "-", kind: "site", site: site.Name, details: [], removed: site });
    this.#unsetDefault();
    this.#checkNames();
    for (const wanted of this.#wanted) this.#planSite(wanted);
    const { mistakes } = this.#options;
    if (this.#newWebhooks > 0)
      mistakes.check({}, "", () => requireWebhookRoom(this.#present.system, this.#newWebhooks));
    const changes = this.#steps.reduce((sum, step) => sum + (step.changes?.length ?? 0), 0);
    if (changes > maxChanges)
      throw new ProblemError(
        "too-large",
        `these are ${changes} changes; apply at most ${maxChanges} at a time, for example by splitting the file`,
      );
    return { steps: this.#steps, leftAlone: this.#leftAlone };
  }

  #prune(step: Step): void {
    if (this.#options.prune) this.#steps.push(step);
    else this.#leftAlone++;
  }

  /** There's at most one default site, so another one that the file doesn't mention no longer is. */
  #unsetDefault(): void {
    const next = this.#wanted.find(({ entry }) => entry.default)?.name;
    if (next === undefined) return;
    for (const { ID, Name, Default } of this.#live.values()) {
      if (Default === "" || Name === next) continue;
      const named = this.#wanted.find(({ name }) => name === Name);
      if (named?.entry.default === false || this.#steps.some(({ removed }) => removed?.ID === ID)) continue;
      const intent = toUpdateIntent(siteResource, ID, { Default: "" }, this.#now);
      this.#steps.push({
        sign: "~",
        kind: "site",
        site: Name,
        details: [`default yes → no, because ${next} is`],
        changes: [{ intent, rank: "releases a hostname" }],
      });
    }
  }

  /** Compares the hostnames that sites will have, because one may move to another site. */
  #checkNames(): void {
    const { mistakes, prune } = this.#options;
    const wanted = new Map(this.#wanted.map((site) => [site.name, site]));
    const owners = new Map<string, string>();
    for (const site of this.#present.system.sites) {
      const own = wanted.get(site.Name);
      if (own ? own.hostnames : prune && isLive(site)) continue;
      for (const host of toSite(site).hostnames) owners.set(host, site.Name);
    }
    for (const { name, hostnames, entry } of this.#wanted)
      for (const [at, host] of (hostnames ?? []).entries()) {
        const owner = owners.get(host);
        if (owner !== undefined && owner !== name)
          mistakes.add(
            mistakes.placeOf(entry.hostnames ?? entry, at),
            `the hostname \`${host}\` already belongs to the site \`${owner}\``,
          );
        owners.set(host, name);
      }
  }

  #planSite(wanted: WantedSite): void {
    const { entry, name, hasSandbox } = wanted;
    const { sites } = this.#present.system;
    const isTaken = sites.some(({ Name }) => Name === name);
    const site = this.#live.get(name);
    const { mistakes } = this.#options;
    if (isTaken && !site) return void mistakes.check(entry, "name", () => requireChangeableSite(sites, name));
    const id = site?.ID ?? this.#nextSiteId++;
    this.#planSettings(wanted, site, id);
    const sandbox = site && this.#index.sandboxes.get(id);
    if (hasSandbox && !sandbox) {
      const others = [...sites, ...this.#wanted.map(({ name: Name }) => ({ Name, SandboxOf: "" }))] as SiteRecord[];
      mistakes.check(entry, "sandbox", () => requireSandboxName(others, { ID: id, Name: name } as SiteRecord));
      const run = (engine: Engine) => makeSandbox(engine, name, { now: Date.now });
      this.#steps.push({ sign: "+", kind: "sandbox", site: name, details: [], run });
    }
    if (hasSandbox === false && sandbox)
      this.#prune({ sign: "-", kind: "sandbox", site: name, details: [], removed: sandbox });
    for (const inSandbox of [false, true]) {
      const place = { site: name, inSandbox, id: inSandbox ? sandbox?.ID : id };
      // Without `sandbox: true`, the lists can't have entries for the sandbox, so they don't say what's missing either.
      if (inSandbox && !hasSandbox) continue;
      this.#planKeys(wanted.keys, place);
      this.#planWebhooks(wanted.webhooks, place);
    }
  }

  #planSettings({ entry, name, hostnames }: WantedSite, site: SiteRecord | undefined, id: number): void {
    const { default: isDefault, suspended: isSuspended, keyWebhooks: allowsWebhooksByKey } = entry;
    const settings = { hostnames, isDefault, isSuspended, allowsWebhooksByKey };
    const before = site && splitWords(site.Hostnames);
    const added = (hostnames ?? []).filter((host) => !before?.includes(host));
    const removed = (before ?? []).filter((host) => hostnames && !hostnames.includes(host));
    const sent = toSiteValues(settings, site, this.#now);
    if (site && added.length + removed.length === 0) delete sent.Hostnames;
    const values = Object.entries(sent).filter(([field, value]) => value !== (site?.[field as keyof SiteRecord] ?? ""));
    if (site && values.length === 0) return;
    const yesNo = { Default: "default", Suspended: "suspended", KeyWebhooks: "keyWebhooks" };
    const details = values.flatMap(([field, value]) => {
      if (field === "Hostnames")
        return `hostnames ${[...added.map((one) => `+${one}`), ...removed.map((one) => `-${one}`)].join(" ")}`;
      const [no, yes] = field === "KeyWebhooks" ? ["yes", "no"] : ["no", "yes"];
      return `${yesNo[field as keyof typeof yesNo]} ${site ? `${value === "" ? yes : no} → ` : ""}${value === "" ? no : yes}`;
    });
    if (!site) {
      const intent = toCreateIntent(siteResource, { Name: name, ...sent }, this.#now, id);
      this.#steps.push({ sign: "+", kind: "site", site: name, details, changes: [{ intent, rank: "creates a site" }] });
      return;
    }
    const rank = added.length > 0 || isDefault ? "changes a site" : "releases a hostname";
    const intent = toUpdateIntent(siteResource, id, Object.fromEntries(values), this.#now);
    this.#steps.push({ sign: "~", kind: "site", site: name, details, changes: [{ intent, rank }] });
  }

  #planKeys(all: readonly WantedKey[] | undefined, place: Place): void {
    if (!all) return;
    const wanted = all.filter(({ entry }) => (entry.sandbox ?? false) === place.inSandbox);
    const free = new Set(place.id === undefined ? [] : this.#index.keys.get(place.id));
    // A key that's named by its prefix can't be meant by a label.
    for (const one of wanted.toSorted(
      (a, b) => Number(b.entry.prefix !== undefined) - Number(a.entry.prefix !== undefined),
    )) {
      const found = this.#findKey(one, free, place);
      if (found === "mistake") continue;
      if (found) free.delete(found);
      const step = found ? this.#changeKey(one, found, place) : this.#createKey(one, place);
      if (step) this.#steps.push(step);
    }
    for (const key of free) {
      if (isExpired(key, this.#now)) continue;
      const intent = toUpdateIntent(keyResource, key.ID, { Revoked: toInstant(this.#now) }, this.#now);
      const name = key.Label === "" ? key.Prefix : `${showName(key.Label)} (${key.Prefix})`;
      this.#prune({ ...where(place), sign: "-", kind: "key", name, details: [], changes: [{ intent, rank: "other" }] });
    }
  }

  /** Undefined if there's none yet. */
  #findKey({ entry }: WantedKey, keys: ReadonlySet<KeyRecord>, { site }: Place): KeyRecord | "mistake" | undefined {
    const { mistakes } = this.#options;
    const { prefix, label } = entry;
    if (prefix !== undefined) {
      const found = [...keys].find(({ Prefix, Former }) => Prefix === prefix || splitWords(Former).includes(prefix));
      if (found) return found;
      const detail = `${site} has no key that starts with ${prefix}; see \`key list --site ${site}\`, or leave out \`prefix\` to create a new key`;
      mistakes.add(mistakes.placeOf(entry, "prefix"), detail);
      return "mistake";
    }
    const named = [...keys].filter(({ Label }) => Label === label);
    const valid = named.filter((key) => !isExpired(key, this.#now));
    if (valid.length <= 1) return valid[0] ?? named.at(-1);
    const prefixes = valid.map(({ Prefix }) => Prefix);
    const detail = `${valid.length} keys at ${site} have this label (${prefixes.slice(0, 10).join(", ")}); add \`prefix: ${prefixes[0]}\` to say which one you mean, or change a label with \`key set\``;
    mistakes.add(mistakes.placeOf(entry, "label"), detail);
    return "mistake";
  }

  #createKey({ entry, changes, expiresAt }: WantedKey, place: Place): Step | undefined {
    const now = this.#now;
    const end = expiresAt?.(now) ?? undefined;
    // The file may be older than the day when it expired.
    if (end !== undefined && end <= now) return undefined;
    const { label = "", rights = ["write"], networks = [], rate } = changes;
    const step: Step = {
      ...where(place),
      sign: "+",
      kind: "key",
      name: showName(label),
      details: [
        rights.join(", "),
        ...(networks.length > 0 ? [`from ${networks.join(", ")}`] : []),
        ...(rate ? [`rate ${rate}`] : []),
        ...(entry.expires === undefined ? [] : [`expires ${entry.expires}`]),
      ],
    };
    if (place.id === undefined) return { ...step, changes: [] };
    const settings = { label, rights, networks, rate: rate ?? undefined, expiresAt: end };
    const created = this.#options.mistakes.check(entry, "", () =>
      createKeyIntent(place.id as number, settings, now, place.inSandbox),
    );
    if (!created) return undefined;
    const secret = { ...secretOf(place), label, key: created.key };
    return { ...step, changes: [{ intent: created.intent, rank: "other", secret }] };
  }

  #changeKey({ entry, changes, expiresAt }: WantedKey, key: KeyRecord, place: Place): Step | undefined {
    const isUnchanged = changes.rights?.length === 0 && key.Scope === "none";
    const sent = toKeyValues({
      ...changes,
      rights: isUnchanged ? undefined : changes.rights,
      expiresAt: expiresAt?.(Date.parse(key.Created)),
    });
    const differing = (Object.entries(sent) as [keyof typeof shownFields, string][]).filter(
      ([field, value]) => !isSameValue(field, key[field], value),
    );
    if (differing.length === 0) return undefined;
    const details = differing.map(([field, value]) => {
      const { label, none } = shownFields[field];
      const show = (text: string) => (field === "Label" ? showName(text) : text || none);
      return `${label} ${show(key[field])} → ${show(value)}`;
    });
    const intent = this.#options.mistakes.check(entry, "", () =>
      toUpdateIntent(keyResource, key.ID, Object.fromEntries(differing), this.#now),
    );
    const name = key.Label === "" ? key.Prefix : showName(key.Label);
    return {
      ...where(place),
      sign: "~",
      kind: "key",
      name,
      details,
      changes: intent ? [{ intent, rank: "other" }] : [],
    };
  }

  #planWebhooks(all: readonly WantedWebhook[] | undefined, place: Place): void {
    if (!all) return;
    const wanted = all.filter(({ entry }) => (entry.sandbox ?? false) === place.inSandbox);
    const free = new Set(place.id === undefined ? [] : this.#index.webhooks.get(place.id));
    const before = free.size;
    let created = 0;
    for (const one of wanted.toSorted((a, b) => Number(b.entry.id !== undefined) - Number(a.entry.id !== undefined))) {
      const found = this.#findWebhook(one, free, place);
      if (found === "mistake") continue;
      if (found) free.delete(found);
      const isIncomplete = found && this.#present.webhooks.get(found.ID)?.status === "incomplete";
      if (!found) created++;
      if (!found || isIncomplete) this.#steps.push(this.#createWebhook(one, found, place));
      if (found) this.#changeWebhook(one, found, place);
    }
    for (const { ID, URL: url } of free)
      this.#prune({
        ...where(place),
        sign: "-",
        kind: "webhook",
        name: url,
        details: [],
        run: (engine) => removeWebhook(engine, ID, Date.now()),
      });
    this.#newWebhooks += created;
    if (created > 0 && before + created > maxWebhooksOfSite) {
      const { mistakes } = this.#options;
      const detail = `${place.site} would have ${before + created} webhooks, and ${maxWebhooksOfSite} is the maximum; remove some first`;
      mistakes.add(mistakes.placeOf(all), detail);
    }
  }

  /** Undefined if there's none yet. */
  #findWebhook(
    { entry, url }: WantedWebhook,
    webhooks: ReadonlySet<WebhookRecord>,
    { site }: Place,
  ): WebhookRecord | "mistake" | undefined {
    const { mistakes } = this.#options;
    const { id } = entry;
    const found = [...webhooks].filter((one) => (id === undefined ? one.URL === url : one.ID === id));
    if (id !== undefined && found.length === 0) {
      mistakes.add(
        mistakes.placeOf(entry, "id"),
        `${site} has no webhook ${id}; see \`webhook list --site ${site}\`, or leave out \`id\` to add a new one`,
      );
      return "mistake";
    }
    if (found.length <= 1) return found[0];
    const ids = found.map(({ ID }) => ID);
    mistakes.add(
      mistakes.placeOf(entry, "url"),
      `${found.length} webhooks at ${site} have this URL (${ids.join(", ")}); add \`id: ${ids[0]}\` to say which one you mean`,
    );
    return "mistake";
  }

  /** @param incomplete a webhook without a secret, to be completed */
  #createWebhook({ entry, url, since }: WantedWebhook, incomplete: WebhookRecord | undefined, place: Place): Step {
    const now = this.#now;
    const { resources = [], paused } = entry;
    const details = [...(resources.length > 0 ? [resources.join(", ")] : []), ...(paused ? ["paused"] : [])];
    const step: Step = { ...where(place), sign: "+", kind: "webhook", name: url, details, changes: [] };
    if (place.id === undefined) return step;
    const pause = paused ? { Paused: toInstant(now), Reason: operatorPause } : { Paused: "", Reason: "" };
    if (incomplete) {
      const isChanged = paused !== undefined && paused !== (incomplete.Paused !== "");
      const intent = toUpdateIntent(webhookResource, incomplete.ID, pause, now);
      return {
        ...step,
        changes: isChanged ? [{ intent, rank: "other" }] : [],
        incomplete: { record: incomplete, since },
      };
    }
    const values = {
      Site: String(place.id),
      URL: url,
      Resources: [...new Set(resources)].join(" "),
      Created: toInstant(now),
      ...pause,
    };
    const intent = toCreateIntent(webhookResource, values, now);
    return { ...step, changes: [{ intent, rank: "other", webhook: { step, since } }] };
  }

  #changeWebhook({ entry, url }: WantedWebhook, webhook: WebhookRecord, place: Place): void {
    const { mistakes, policy } = this.#options;
    const { ID, URL: before, Resources } = webhook;
    const isStoppedNow = isStopped(webhook, this.#present);
    const { resources, paused } = entry;
    if (resources && !isSameSet(resources, splitWords(Resources))) {
      const detail = `the webhook sends ${Resources || "everything"} now, which can't be changed; remove it with \`webhook remove ${ID}\`, and the next run adds it with a new secret`;
      mistakes.add(mistakes.placeOf(entry, "resources"), detail);
    }
    const change = (details: string, run: Step["run"]) =>
      this.#steps.push({
        ...where(place),
        sign: "~",
        kind: "webhook",
        name: before,
        details: [details],
        ...(run ? { run } : {}),
      });
    if (before !== url) change(`url → ${url}`, (engine) => changeWebhookUrl(engine, ID, url, policy, Date.now()));
    if (paused === undefined || isStoppedNow === undefined || paused === isStoppedNow) return;
    if (paused) change("paused no → yes", (engine) => pauseWebhook(engine, ID, Date.now()));
    else change("paused yes → no", (engine) => resumeWebhook(engine, ID, policy, Date.now()));
  }
}

/** A site or its sandbox. */
interface Place {
  readonly site: string;
  readonly inSandbox: boolean;
  /** Undefined while the sandbox doesn't exist. */
  readonly id: number | undefined;
}

function where({ site, inSandbox }: Place): Pick<Step, "site" | "inSandbox"> {
  return { site, inSandbox };
}

function secretOf({ site, inSandbox }: Pick<Step, "site" | "inSandbox">): IssuedSecret {
  return { site, ...(inSandbox ? { sandbox: true } : {}) };
}

/** How plans show a key's fields. */
const shownFields = {
  Label: { label: "label", none: "" },
  Scope: { label: "rights", none: "none" },
  Networks: { label: "from", none: "any" },
  Rate: { label: "rate", none: "default" },
  Expires: { label: "expires", none: "never" },
} as const;

/** A label may contain anything, so that it could look like another line of the plan. */
function showName(label: string): string {
  return /^[\p{L}\p{N}][\p{L}\p{N} _./-]*$/u.test(label) ? label : JSON.stringify(label);
}

function isSameValue(field: keyof typeof shownFields, before: string, after: string): boolean {
  if (field === "Networks") return isSameSet(splitWords(before), splitWords(after));
  if (field === "Expires") return before === after || Date.parse(before) === Date.parse(after);
  if (field !== "Scope") return before === after;
  const [old, next] = [toKeyRights(before), toKeyRights(after)];
  return old.includes(next) && next.includes(old);
}

function isSameSet(some: readonly string[], others: readonly string[]): boolean {
  return new Set(some).size === new Set(others).size && some.every((one) => others.includes(one));
}

/** How long all hostnames of new webhooks may take to resolve. */
const maxResolvingMs = 15_000;

/**
 * Checks the URLs that the plan saves or resumes, and adds those that aren't allowed to `options.mistakes`.
 * @returns those whose hostname doesn't resolve at the moment
 */
export async function checkWebhookUrls(
  { steps }: Plan,
  wanted: readonly WantedSite[],
  { policy, mistakes }: PlanOptions,
): Promise<readonly string[]> {
  const sites = new Set(steps.flatMap(({ kind, sign, site }) => (kind === "webhook" && sign !== "-" ? [site] : [])));
  const signal = AbortSignal.timeout(maxResolvingMs);
  const limited = { ...policy, lookup: (name: string) => policy.lookup(name, signal) };
  const entries = wanted.filter(({ name }) => sites.has(name)).flatMap(({ webhooks = [] }) => webhooks);
  const checked = await Promise.all(
    entries.map(async ({ entry, url }) => {
      try {
        return (await checkWebhookUrl(url, limited)).isResolved ? [] : [url];
      } catch (error) {
        if (!(error instanceof ProblemError)) throw error;
        mistakes.add(mistakes.placeOf(entry, "url"), error.message);
        return [];
      }
    }),
  );
  return checked.flat();
}

/** How many records each site to be removed has, by ID. */
export async function countRemovedRecords(engine: Engine, { steps }: Plan): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  for (const { removed } of steps) if (removed) counts.set(removed.ID, await countRecords(engine, removed));
  return counts;
}

/** Includes those of its sandbox. */
async function countRecords(engine: Engine, { ID: id }: SiteRecord): Promise<number> {
  const { sites } = await readSystemRecords(engine);
  let count = 0;
  for (const { ID } of sites.filter((site) => site.ID === id || site.SandboxOf === String(id))) {
    const { counts } = await engine.readSite(ID, async (contents) => contents);
    for (const { name } of publicResources(allResources)) count += counts[name]?.count ?? 0;
  }
  return count;
}

/**
 * Applies a plan. All or none of the sites, keys and webhooks are created, except those of new sandboxes.
 * @param confirmed what may be done
 * @param removedRecords from `countRemovedRecords`; a site that has got its first record since isn't removed
 * @returns the URLs of webhooks that another run has completed, so that the secrets handed over here aren't in use
 * @throws ProblemError `conflict` if something in the database has changed so that more would have to be done. Running it again then continues
 */
export async function applySites(
  engine: Engine,
  wanted: readonly WantedSite[],
  options: PlanOptions,
  confirmed: Plan,
  removedRecords: ReadonlyMap<number, number>,
  secrets: SecretStore,
): Promise<readonly string[]> {
  const texts = new Set(confirmed.steps.map(stepText));
  const planAgain = (present: PresentSites) => {
    const { steps } = planSites(present, wanted, options, Date.now());
    options.mistakes.throwIfAny();
    const unforeseen = steps.find((step) => !texts.has(stepText(step)));
    if (!unforeseen) return steps;
    const detail = `someone else has changed the sites since this was planned, so this would have to be done too: ${stepText(unforeseen)}; run the command again`;
    throw new ProblemError("conflict", detail);
  };
  const plan = async () => planAgain(await readPresentSites(engine));
  for (const { removed } of await plan()) if (removed) await removeIfAsPlanned(engine, removed, removedRecords);
  const unused = await commitRecords(engine, planAgain, secrets);
  const copies = (await plan()).filter(({ kind }) => kind === "sandbox");
  for (const { run } of copies) await run?.(engine);
  const others = copies.length > 0 ? await commitRecords(engine, planAgain, secrets) : [];
  for (const { run } of await plan()) await run?.(engine);
  return [...unused, ...others];
}

async function removeIfAsPlanned(
  engine: Engine,
  site: SiteRecord,
  records: ReadonlyMap<number, number>,
): Promise<void> {
  if (records.get(site.ID) === 0 && (await countRecords(engine, site)) > 0)
    throw new ProblemError(
      "conflict",
      `the site \`${site.Name}\` wasn't removed, because it has records now; run the command again`,
    );
  await removeSite(engine, site.Name, Date.now());
}

/** Commits the records in one transaction, then completes webhooks. @returns the URLs of those that another run has completed */
async function commitRecords(
  engine: Engine,
  planAgain: (present: PresentSites) => readonly Step[],
  secrets: SecretStore,
): Promise<readonly string[]> {
  const present = await readPresentSites(engine);
  let steps: readonly Step[] = [];
  let changes: readonly RecordChange[] = [];
  const bodies = await commitSystemChanges(engine, (system) => {
    steps = planAgain({ ...present, system });
    const found = steps.flatMap((step) => step.changes ?? []);
    changes = found.toSorted((a, b) => ranks.indexOf(a.rank) - ranks.indexOf(b.rank));
    secrets.add(changes.flatMap(({ secret }) => secret ?? []));
    return changes.map(({ intent }) => intent);
  });
  secrets.keep();
  const created = changes.flatMap(({ webhook }, at) =>
    webhook ? [{ ...webhook, record: JSON.parse(bodies[at] as string) as WebhookRecord }] : [],
  );
  const incomplete = steps.flatMap((step) => (step.incomplete ? [{ step, ...step.incomplete }] : []));
  const webhooks = [...created, ...incomplete].map((webhook) => ({ ...webhook, secret: createWebhookSecret() }));
  secrets.add(webhooks.map(({ step, record, secret }) => ({ ...secretOf(step), url: record.URL, secret })));
  secrets.keep();
  const unused: string[] = [];
  for (const { record, since, secret } of webhooks) {
    const start = await resolveDeliveryStart(engine, Number(record.Site), since);
    const { isSaved } = await saveNewWebhook(engine, record.ID, start, secret, Date.now());
    if (!isSaved) unused.push(record.URL);
  }
  return unused;
}
