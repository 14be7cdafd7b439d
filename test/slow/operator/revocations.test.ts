// What was revoked stays revoked whatever is restored, copied or imported, in any order. Compares random histories with a model.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { Engine } from "../../../src/model/engine.ts";
import type { GivenRole } from "../../../src/model/operator-role.ts";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { copyDatabase } from "../../../src/operator/backup/copy.ts";
import {
  createOperator,
  listOperators,
  removeOperator,
  setOperator,
} from "../../../src/operator/operators/operators.ts";
import { exportSite } from "../../../src/operator/site-files/export-site.ts";
import { importSite } from "../../../src/operator/site-files/import-site.ts";
import { createKey, listKeys, revokeKey, rotateKey, setKey } from "../../../src/operator/sites/keys.ts";
import { removeSite } from "../../../src/operator/sites/site-removal.ts";
import { createSite, listSites, setSite } from "../../../src/operator/sites/sites.ts";
import { createWebhook } from "../../../src/operator/webhooks/webhook-creation.ts";
import { listWebhooks } from "../../../src/operator/webhooks/webhook-list.ts";
import {
  changeWebhookUrl,
  pauseWebhook,
  removeWebhook,
  resumeWebhook,
  rotateWebhook,
} from "../../../src/operator/webhooks/webhooks.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { engines } from "../../support/engine/engines.ts";
import "../../support/property-seed.ts";

setDefaultTimeout(600_000);

/** Names resolve to no address, which `webhook add` accepts. */
const policy = { allow: [], isLoopbackAllowed: true, lookup: async () => [] };
/** `garden` is sometimes removed and imported. It and `toys` start with a key and a webhook. */
const siteNames = ["garden", "toys", "shop"] as const;

// The model. It follows contract section 11, and knows nothing of records, tables or the names a restore keeps.

interface Key {
  readonly site: string;
  readonly isRevoked: boolean;
  readonly rate: number;
}
interface Operator {
  /** Undefined means all sites. */
  readonly sites: readonly string[] | undefined;
  readonly role: GivenRole;
}
interface Webhook {
  readonly path: string;
  readonly isPaused: boolean;
  /** The current secret and the one before. Empty if the program made it up. */
  readonly secrets: readonly string[];
}
interface State {
  readonly sites: ReadonlyMap<string, { readonly isSuspended: boolean }>;
  /** By prefix. */
  readonly keys: ReadonlyMap<string, Key>;
  readonly operators: ReadonlyMap<string, Operator>;
  /** By site name. Each site has only one. */
  readonly webhooks: ReadonlyMap<string, Webhook>;
}

interface Decision {
  readonly value: unknown;
  readonly at: number;
}

interface Model {
  readonly state: State;
  /** The latest decision on each subject. */
  readonly decisions: ReadonlyMap<string, Decision>;
  /** For each key, the one it replaced by rotation, and that key's rate then. */
  readonly replaced: ReadonlyMap<string, { readonly prefix: string; readonly rate: number }>;
}

const nothing: Model = {
  state: { sites: new Map(), keys: new Map(), operators: new Map(), webhooks: new Map() },
  decisions: new Map(),
  replaced: new Map(),
};

/** What limits a backup's records: the latest decision, plus what limits the replaced records unless the backup knows that decision. */
function limitsOfRestore(before: Model, backup: Model) {
  const last = new Map(before.decisions);
  for (const [subject, decision] of backup.decisions)
    if ((last.get(subject)?.at ?? -1) < decision.at) last.set(subject, decision);
  const isLastInBackup = (subject: string) => {
    const at = backup.decisions.get(subject)?.at;
    return at !== undefined && at === last.get(subject)?.at;
  };
  const limits = <T>(subject: string, replaced: T | undefined): readonly T[] => {
    const decided = last.has(subject) ? [last.get(subject)?.value as T] : [];
    return isLastInBackup(subject) || replaced === undefined ? decided : [...decided, replaced];
  };
  const decisions = new Map(last);
  // What the backup has removed or rotated is so again.
  for (const [subject, decision] of backup.decisions)
    if (/removed|secret/.test(subject) && decision.value === true && last.get(subject)?.value === false)
      decisions.set(subject, decision);
  const isTrue = (subject: string) => last.get(subject)?.value === true;
  return { limits, isTrue, isLastInBackup, decisions, replaced: new Map([...before.replaced, ...backup.replaced]) };
}

function restored(before: Model, backup: Model): Model {
  const { limits, isTrue, isLastInBackup, decisions, replaced } = limitsOfRestore(before, backup);
  const anyOf = (own: boolean, subject: string, found: boolean | undefined) =>
    own || limits(subject, found).includes(true);
  const keys = new Map<string, Key>();
  for (const [prefix, key] of backup.state.keys) {
    const found = before.state.keys.get(prefix);
    const isRevoked = anyOf(key.isRevoked, `${prefix} revoked`, found?.isRevoked);
    const rate = key.isRevoked ? key.rate : Math.min(key.rate, ...limits(`${prefix} rate`, found?.rate));
    keys.set(prefix, { ...key, isRevoked, rate });
    if (isRevoked === key.isRevoked && rate === key.rate) continue;
    for (const [successor, { rate: early }] of replaced) {
      if (backup.state.keys.has(successor) || originOf(successor, replaced, backup.state.keys) !== prefix) continue;
      const late = (decisions.get(`${successor} rate`)?.value ?? early) as number;
      if (!isTrue(`${successor} revoked`)) keys.set(successor, { site: key.site, isRevoked: false, rate: late });
    }
  }
  const operators = new Map<string, Operator>();
  for (const [name, operator] of backup.state.operators) {
    const found = before.state.operators.get(name);
    const role = limits(`${name} role`, found?.role).reduce(narrowerRole, operator.role);
    const own = operator.sites ?? [...backup.state.sites.keys()];
    const allowed = decisions.get(`${name} sites`)?.value as Operator["sites"];
    const kept = isLastInBackup(`${name} sites`) ? undefined : found?.sites;
    const isLost = (site: string) => kept && before.state.sites.has(site) && !kept.includes(site);
    const left = own.filter((site) => (allowed?.includes(site) ?? true) && !isLost(site));
    if (isTrue(`${name} removed`) || (left.length === 0 && own.length > 0)) continue;
    operators.set(name, { sites: operator.sites || allowed || kept ? left : undefined, role });
  }
  const webhooks = new Map<string, Webhook>();
  for (const [site, webhook] of backup.state.webhooks) {
    if (isTrue(`webhook ${site} removed`)) continue;
    const found = before.state.webhooks.get(site);
    const isPaused = anyOf(webhook.isPaused, `webhook ${site} paused`, found?.isPaused);
    const path = String(decisions.get(`webhook ${site} path`)?.value ?? webhook.path);
    const isRotated = ([present]: readonly string[]) => present === undefined || isTrue(`secret ${present}`);
    if (!isRotated(webhook.secrets)) webhooks.set(site, { ...webhook, path, isPaused });
    else if (found && !isRotated(found.secrets)) webhooks.set(site, { path, isPaused, secrets: found.secrets });
    else webhooks.set(site, { path, isPaused: true, secrets: [] });
  }
  const sites = new Map(
    [...backup.state.sites].map(([name, { isSuspended }]) => [
      name,
      { isSuspended: anyOf(isSuspended, `${name} suspended`, before.state.sites.get(name)?.isSuspended) },
    ]),
  );
  return { state: { sites, keys, operators, webhooks }, decisions, replaced };
}

function originOf(prefix: string, replaced: Model["replaced"], keys: State["keys"]): string | undefined {
  let origin: string | undefined = prefix;
  while (origin !== undefined && !keys.has(origin)) origin = replaced.get(origin)?.prefix;
  return origin;
}

/** A viewer and an editor each have rights that the other lacks. */
function narrowerRole(role: GivenRole, limit: GivenRole): GivenRole {
  return limit === "admin" ? role : limit;
}

function restoredAsOfBackup(before: Model, backup: Model, now: number): Model {
  const { decisions, replaced } = limitsOfRestore(before, backup);
  const decide = (subject: string, value: unknown) => {
    if (decisions.has(subject)) decisions.set(subject, { value, at: now });
  };
  const { state } = backup;
  for (const [name, { isSuspended }] of state.sites) decide(`${name} suspended`, isSuspended);
  for (const [prefix, { isRevoked, rate }] of state.keys) {
    decide(`${prefix} revoked`, isRevoked);
    decide(`${prefix} rate`, rate);
  }
  for (const [name, { sites, role }] of state.operators) {
    decide(`${name} removed`, false);
    decide(`${name} sites`, sites);
    decide(`${name} role`, role);
  }
  for (const [site, { path, isPaused, secrets }] of state.webhooks) {
    decide(`webhook ${site} removed`, false);
    decide(`webhook ${site} path`, path);
    decide(`webhook ${site} paused`, isPaused);
    if (secrets[0]) decide(`secret ${secrets[0]}`, false);
  }
  return { state, decisions, replaced };
}

/** The model after importing `garden` from a file that was made in the state `file`. */
function imported({ state, ...model }: Model, file: State, now: number): Model {
  const decisions = new Map(model.decisions);
  const decided = (subject: string) => model.decisions.get(subject)?.value;
  const decide = (subject: string, value: unknown) => decisions.set(subject, { value, at: now });
  const keys = new Map(state.keys);
  for (const [prefix, key] of file.keys) {
    if (key.site !== "garden") continue;
    const isRevoked = key.isRevoked || decided(`${prefix} revoked`) === true;
    const limit = (decided(`${prefix} rate`) ?? key.rate) as number;
    const rate = key.isRevoked ? key.rate : Math.min(key.rate, limit);
    keys.set(prefix, { ...key, isRevoked, rate });
    if (isRevoked) decide(`${prefix} revoked`, true);
    decide(`${prefix} rate`, rate);
  }
  const webhooks = new Map(state.webhooks);
  const webhook = file.webhooks.get("garden");
  if (webhook && decided("webhook garden removed") !== true) {
    const path = String(decided("webhook garden path") ?? webhook.path);
    const [present, ...older] = webhook.secrets;
    const isRotated = decided(`secret ${present}`) === true;
    webhooks.set("garden", { path, isPaused: true, secrets: isRotated ? [] : webhook.secrets });
    decide("webhook garden paused", true);
    if (!isRotated) for (const one of older) decide(`secret ${one}`, true);
  }
  const isSuspended = file.sites.get("garden")?.isSuspended === true || decided("garden suspended") === true;
  if (isSuspended) decide("garden suspended", true);
  const sites = new Map(state.sites).set("garden", { isSuspended });
  return { ...model, state: { ...state, keys, webhooks, sites }, decisions };
}

// The world: the database in use with its model, and all the files made.

interface File {
  readonly path: string;
  readonly model: Model;
}

class World {
  readonly #folder: string;
  readonly #newEngine: () => Promise<Engine>;
  engine: Engine;
  #model = nothing;
  readonly #backups: File[] = [];
  readonly #siteFiles: File[] = [];
  /** Secrets given to receivers. */
  readonly #givenSecrets = new Set<string>();
  #now = 1_700_000_000_000;
  #files = 0;

  constructor(folder: string, newEngine: () => Promise<Engine>, engine: Engine) {
    this.#folder = folder;
    this.#newEngine = newEngine;
    this.engine = engine;
  }

  #next(): number {
    this.#now += 1000;
    return this.#now;
  }

  #newFile(): string {
    return join(this.#folder, `${++this.#files}`);
  }

  async fill(): Promise<void> {
    for (const site of siteNames) {
      const record = await createSite(this.engine, site, {}, this.#next());
      this.#set("sites", site, { isSuspended: false });
      if (site === "shop") continue;
      const key = await createKey(this.engine, record, { rate: 50 }, this.#next());
      this.#set("keys", key.record.Prefix, { site, isRevoked: false, rate: 50 });
      const settings = { url: `https://hooks.example/${site}`, resources: [], since: { at: this.#next() } };
      const { secret } = await createWebhook(this.engine, record, settings, policy, this.#now);
      this.#givenSecrets.add(secret);
      this.#set("webhooks", site, { path: `/${site}`, isPaused: false, secrets: [secret] });
    }
    await this.addOperator();
    await this.backUp();
    await this.exportSite();
  }

  #set(part: keyof State, name: string, value: object): void {
    const { state } = this.#model;
    const changed = new Map<string, unknown>(state[part]).set(name, value);
    this.#model = { ...this.#model, state: { ...state, [part]: changed } };
  }

  #delete(part: keyof State, name: string): void {
    const { state } = this.#model;
    const left = new Map<string, unknown>(state[part]);
    left.delete(name);
    this.#model = { ...this.#model, state: { ...state, [part]: left } };
  }

  #decide(subject: string, value: unknown): void {
    const decision = { value, at: this.#now };
    this.#model = { ...this.#model, decisions: new Map(this.#model.decisions).set(subject, decision) };
  }

  // Decisions.

  #pickKey(choice: number): [string, Key] | undefined {
    const valid = [...this.#model.state.keys].filter(([, { isRevoked }]) => !isRevoked);
    return valid[choice % valid.length];
  }

  async revokeKey(choice: number): Promise<void> {
    const [prefix, key] = this.#pickKey(choice) ?? [];
    if (!prefix || !key) return;
    await revokeKey(this.engine, prefix, this.#next());
    this.#set("keys", prefix, { ...key, isRevoked: true });
    this.#decide(`${prefix} revoked`, true);
  }

  async setKeyRate(choice: number, rate: number): Promise<void> {
    const [prefix, key] = this.#pickKey(choice) ?? [];
    if (!prefix || !key || key.rate === rate) return;
    await setKey(this.engine, prefix, { rate }, this.#next());
    this.#set("keys", prefix, { ...key, rate });
    this.#decide(`${prefix} rate`, rate);
  }

  async rotateKey(choice: number): Promise<void> {
    const [prefix, key] = this.#pickKey(choice) ?? [];
    if (!prefix || !key) return;
    const { record } = await rotateKey(this.engine, prefix, 0, this.#next());
    this.#set("keys", prefix, { ...key, isRevoked: true });
    this.#set("keys", record.Prefix, key);
    this.#decide(`${prefix} revoked`, true);
    const { rate } = key;
    this.#model = { ...this.#model, replaced: new Map(this.#model.replaced).set(record.Prefix, { prefix, rate }) };
  }

  /** Removes the operator, or adds them again. */
  async toggleOperator(): Promise<void> {
    if (!this.#model.state.operators.has("anna")) return this.addOperator();
    await removeOperator(this.engine, "anna", this.#next(), { mayBeLast: true });
    this.#delete("operators", "anna");
    this.#decide("anna removed", true);
  }

  async addOperator(): Promise<void> {
    await createOperator(this.engine, "anna", [], this.#next());
    this.#set("operators", "anna", { sites: undefined, role: "admin" });
    this.#decide("anna removed", false);
    this.#decide("anna sites", undefined);
    this.#decide("anna role", "admin");
  }

  async setOperator(change: { readonly sites: readonly string[] } | { readonly role: GivenRole }): Promise<void> {
    const operator = this.#model.state.operators.get("anna");
    const wanted = "sites" in change ? { sites: change.sites.length === 0 ? undefined : change.sites } : change;
    const after = { ...operator, ...wanted };
    if (!operator || JSON.stringify(after) === JSON.stringify(operator)) return;
    await setOperator(this.engine, "anna", change, this.#next(), { mayBeLast: true });
    this.#set("operators", "anna", after);
    for (const [name, value] of Object.entries(wanted)) this.#decide(`anna ${name}`, value);
  }

  async changeWebhook(choice: number, change: "remove" | "pause" | "move" | "rotate"): Promise<void> {
    const all = [...this.#model.state.webhooks];
    const [site, webhook] = all[choice % all.length] ?? [];
    if (!site || !webhook) return;
    const { ID: id = 0, Site } = (await listWebhooks(this.engine)).find(({ siteName }) => siteName === site) ?? {};
    if (change === "remove") {
      await removeWebhook(this.engine, id, this.#next());
      this.#delete("webhooks", site);
      this.#decide(`webhook ${site} removed`, true);
    } else if (change === "move") {
      const path = `/${site}/${this.#next()}`;
      await changeWebhookUrl(this.engine, id, `https://hooks.example${path}`, policy, this.#now);
      this.#set("webhooks", site, { ...webhook, path });
      this.#decide(`webhook ${site} path`, path);
    } else if (change === "rotate") {
      const [present] = await this.engine.readWebhookSecrets({ site: Number(Site), webhook: id });
      const { secret } = await rotateWebhook(this.engine, id, this.#next());
      this.#givenSecrets.add(secret);
      this.#set("webhooks", site, { ...webhook, secrets: [secret, present?.secret] });
      this.#decide(`secret ${present?.secret}`, true);
    } else {
      const isPaused = !webhook.isPaused;
      if (isPaused) await pauseWebhook(this.engine, id, this.#next());
      else await resumeWebhook(this.engine, id, policy, this.#next());
      this.#set("webhooks", site, { ...webhook, isPaused });
      this.#decide(`webhook ${site} paused`, isPaused);
    }
  }

  /** Suspends the site, or resumes it. */
  async toggleSite(site: string): Promise<void> {
    const found = this.#model.state.sites.get(site);
    if (!found) return;
    const isSuspended = !found.isSuspended;
    await setSite(this.engine, site, { isSuspended }, this.#next());
    this.#set("sites", site, { isSuspended });
    this.#decide(`${site} suspended`, isSuspended);
  }

  // What moves data from one place to another.

  async backUp(): Promise<void> {
    const path = this.#newFile();
    await backUp(this.engine, path, this.#next());
    this.#backups.push({ path, model: this.#model });
  }

  async restore(choice: number, { isAsOfBackup = false, isNew = false } = {}): Promise<void> {
    const backup = this.#backups[choice % this.#backups.length] as File;
    if (isNew) {
      this.engine = await this.#newEngine();
      this.#model = nothing;
    }
    const path = this.#newFile();
    const { kept } = await restore(this.engine, backup.path, path, this.#next(), { isAsOfBackup });
    if (kept.length > 0) this.#backups.push({ path, model: this.#model });
    this.#model = (isAsOfBackup ? restoredAsOfBackup : restored)(this.#model, backup.model, this.#now);
  }

  async copy(): Promise<void> {
    const target = await this.#newEngine();
    await copyDatabase(this.engine, target, () => {}, this.#next());
    this.engine = target;
  }

  async exportSite(): Promise<void> {
    if (!this.#model.state.sites.has("garden")) return;
    const path = this.#newFile();
    await exportSite(this.engine, "garden", path, this.#next());
    this.#siteFiles.push({ path, model: this.#model });
  }

  async removeSite(): Promise<void> {
    if (!this.#model.state.sites.has("garden")) return;
    await removeSite(this.engine, "garden", this.#next());
    this.#delete("sites", "garden");
    this.#delete("webhooks", "garden");
    for (const [prefix, { site }] of this.#model.state.keys) if (site === "garden") this.#delete("keys", prefix);
    for (const [name, operator] of this.#model.state.operators) {
      const sites = operator.sites?.filter((site) => site !== "garden");
      this.#set("operators", name, { ...operator, sites });
    }
  }

  async importSite(choice: number): Promise<void> {
    await this.removeSite();
    const file = this.#siteFiles[choice % this.#siteFiles.length] as File;
    await importSite(this.engine, file.path, { now: () => this.#next() });
    this.#model = imported(this.#model, file.model.state, this.#now);
  }

  /** Compares the database with the model, which then learns the secrets the program made up. */
  async check(): Promise<void> {
    const webhooks: Record<string, string> = {};
    for (const { ID, Site, siteName, URL: url, Paused } of await listWebhooks(this.engine)) {
      webhooks[siteName] = `${new URL(url).pathname} ${Paused === "" ? "active" : "paused"}`;
      const [present] = await this.engine.readWebhookSecrets({ site: Number(Site), webhook: ID });
      const webhook = this.#model.state.webhooks.get(siteName);
      if (webhook?.secrets.length !== 0) expect(present?.secret).toBe(webhook?.secrets[0]);
      else {
        expect(this.#givenSecrets.has(present?.secret ?? "")).toBe(false);
        this.#set("webhooks", siteName, { ...webhook, secrets: [present?.secret] });
      }
    }
    const found = {
      sites: (await listSites(this.engine)).map(({ Name, Suspended }) => [Name, Suspended !== ""]),
      keys: (await listKeys(this.engine)).map(({ Prefix, siteName, Rate, Revoked }) => [
        Prefix,
        `${siteName} ${Rate} ${Revoked === "" ? "valid" : "revoked"}`,
      ]),
      operators: (await listOperators(this.engine)).map(({ Name, siteNames: names, role }) => [
        Name,
        `${names?.toSorted() ?? "all"} ${role}`,
      ]),
      webhooks: Object.entries(webhooks),
    };
    const { sites, keys, operators, webhooks: expected } = this.#model.state;
    expect(toObjects(found)).toEqual(
      toObjects({
        sites: [...sites].map(([name, { isSuspended }]) => [name, isSuspended]),
        keys: [...keys].map(([prefix, { site, rate, isRevoked }]) => [
          prefix,
          `${site} ${rate} ${isRevoked ? "revoked" : "valid"}`,
        ]),
        operators: [...operators].map(([name, { sites: own, role }]) => [name, `${own?.toSorted() ?? "all"} ${role}`]),
        webhooks: [...expected].map(([site, { path, isPaused }]) => [
          site,
          `${path} ${isPaused ? "paused" : "active"}`,
        ]),
      }),
    );
  }
}

function toObjects(lists: Record<string, unknown[][]>): unknown {
  return Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, Object.fromEntries(list)]));
}

interface Step {
  readonly name: string;
  readonly run: (world: World) => Promise<void>;
}

function step(name: string, run: Step["run"]): fc.Arbitrary<Step> {
  return fc.constant({ name, run });
}

function stepWith<T>(values: fc.Arbitrary<T>, name: string, run: (world: World, value: T) => Promise<void>) {
  return values.map(
    (value): Step => ({
      name: `${name} ${JSON.stringify(value)}`,
      run: (world) => run(world, value),
    }),
  );
}

const choice = fc.nat({ max: 20 });
const decisions = fc.oneof(
  stepWith(choice, "revoke key", (world, n) => world.revokeKey(n)),
  stepWith(choice, "rotate key", (world, n) => world.rotateKey(n)),
  stepWith(fc.tuple(choice, fc.constantFrom(5, 20, 50)), "rate of key", (world, [n, rate]) =>
    world.setKeyRate(n, rate),
  ),
  step("remove or add anna", (world) => world.toggleOperator()),
  stepWith(fc.constantFrom([], ["toys"], ["shop"], ["toys", "shop"]), "sites of anna", (world, sites) =>
    world.setOperator({ sites }),
  ),
  stepWith(fc.constantFrom<GivenRole>("admin", "editor", "viewer"), "role of anna", (world, role) =>
    world.setOperator({ role }),
  ),
  ...(["remove", "pause", "move", "rotate"] as const).map((change) =>
    stepWith(choice, `${change} webhook`, (world, n) => world.changeWebhook(n, change)),
  ),
  stepWith(fc.constantFrom("garden", "toys"), "suspend or resume", (world, site) => world.toggleSite(site)),
);
const moves = fc.oneof(
  step("back up", (world) => world.backUp()),
  stepWith(choice, "restore", (world, n) => world.restore(n)),
  stepWith(choice, "restore", (world, n) => world.restore(n)),
  stepWith(choice, "restore as of the backup", (world, n) => world.restore(n, { isAsOfBackup: true })),
  stepWith(choice, "restore into a new database", (world, n) => world.restore(n, { isNew: true })),
  step("copy", (world) => world.copy()),
  step("export garden", (world) => world.exportSite()),
  step("remove garden", (world) => world.removeSite()),
  stepWith(choice, "import garden", (world, n) => world.importSite(n)),
);
const history = fc.array(fc.oneof(decisions, moves), { minLength: 40, maxLength: 50, size: "max" });

describe.each(engines)("revocations on $name", (kind) => {
  const folder = mkdtempSync(join(tmpdir(), "storefront-revocations-"));
  const opened: Engine[] = [];
  beforeAll(() => kind.open());
  afterAll(async () => {
    for (const engine of opened) await engine.close();
    await kind.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const newEngine = async () => {
    const engine = await openEngine(await kind.newDatabase(), allResources);
    opened.push(engine);
    return engine;
  };

  test("stay in force through random histories", async () => {
    const runs = Number(process.env.PROPERTY_RUNS ?? (kind.name === "SQLite" ? 8 : 2));
    const property = fc.asyncProperty(history, async (steps) => {
      const world = new World(mkdtempSync(join(folder, "run-")), newEngine, await newEngine());
      await world.fill();
      const done: string[] = [];
      try {
        for (const { name, run } of steps) {
          done.push(name);
          await run(world);
          await world.check();
        }
        expect(await world.engine.findInconsistencies()).toEqual([]);
      } catch (error) {
        throw new Error(`${done.join("\n")}\n${error instanceof Error ? error.message : error}`);
      }
    });
    // A history takes seconds, so shrinking one would take minutes.
    await fc.assert(property, { numRuns: runs, endOnFailure: process.env.PROPERTY_SHRINK === undefined });
  });
});
