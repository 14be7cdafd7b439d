// A site with its webhooks, receivers and processes, and what clients, operators and machines do to them.

import type { DumpedRow, Engine } from "../../src/model/engine.ts";
import { publicResources } from "../../src/model/resource.ts";
import { systemSite } from "../../src/model/system-site.ts";
import type { WebhookState } from "../../src/model/webhooks.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite, getSite, setSite } from "../../src/operator/sites/sites.ts";
import { createWebhook } from "../../src/operator/webhooks/webhook-creation.ts";
import { listWebhooks } from "../../src/operator/webhooks/webhook-list.ts";
import {
  pauseWebhook,
  removeWebhook,
  resumeWebhook,
  rewindWebhook,
  rotateWebhook,
} from "../../src/operator/webhooks/webhooks.ts";
import { allResources } from "../../src/resources/all.ts";
import { readCursorAt } from "../../src/store/changes/feed.ts";
import type { SiteRecord } from "../../src/system/system-records.ts";
import type { AddressPolicy } from "../../src/webhooks/address-policy.ts";
import { WebhookChecker } from "./checker.ts";
import type { SimulatedDatabase } from "./database.ts";
import { Network, type Sent } from "./network.ts";
import type { PlantedFault } from "./planted-faults.ts";
import { SimulatedProcess } from "./process.ts";
import { noFailures } from "./process-life.ts";
import type { Random } from "./random.ts";
import { type ModelChange, SiteModel } from "./site-model.ts";
import { type SimulatedTime, simulatedClock } from "./time.ts";

export interface SimulationReport {
  readonly faults: readonly string[];
  /** Requests, and those that repeated an event. */
  readonly sends: number;
  readonly repeats: number;
  /** Events that report missing changes. */
  readonly gone: number;
  readonly kills: number;
  /** How often the database was restored or lost commits. */
  readonly rollbacks: number;
}

interface SimulatedWebhook {
  readonly id: number;
  readonly url: string;
  readonly checker: WebhookChecker;
}

/** A state that a rollback (a restore, or lost commits) goes back to. */
interface Kept {
  readonly changes: readonly ModelChange[];
  goBack(): unknown;
}

const policy: AddressPolicy = { allow: [], isLoopbackAllowed: true, lookup: async () => [] };
const paths = new Map(publicResources(allResources).map(({ path, name }) => [path, name]));
/** How long a process without failures may take to react to a response. */
const reactionMs = 10_000;
/** How long a process's failure has an effect. */
const failureEffectMs = 60_000;

export class Simulation {
  readonly random: Random;
  readonly #database: SimulatedDatabase;
  readonly #engine: Engine;
  readonly #time: SimulatedTime;
  readonly #plant: PlantedFault;
  readonly #network: Network;
  readonly #webhooks: SimulatedWebhook[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #model = new SiteModel();
  /** A backup from before the first change, the last backup, and the commits at one moment. */
  readonly #kept: Record<"empty" | "backup" | "commits", Kept | undefined> = {
    empty: undefined,
    backup: undefined,
    commits: undefined,
  };
  #processes: SimulatedProcess[] = [];
  #started = 0;
  #kills = 0;
  #site = 0;
  #isRecovering = false;
  /** Whether calls to the database may fail. */
  #hasFailures = false;

  constructor(database: SimulatedDatabase, time: SimulatedTime, random: Random, plant: PlantedFault) {
    const { engine } = database;
    this.random = random;
    this.#database = database;
    this.#time = time;
    this.#plant = plant;
    this.#engine = {
      ...engine,
      compareAndSetWebhook: (...args) => this.#updateWebhook(engine, args),
      commit: (...args) => this.#commit(engine, args),
    };
    const checkerOf = (sent: Sent) => this.#webhooks.find(({ url }) => url === sent.url)?.checker as WebhookChecker;
    this.#network = new Network({
      time,
      random,
      onSend: (sent) => checkerOf(sent).onSend(sent, time.now),
      onArrival: (sent, status) => {
        // A fractional status means that the receiver accepts the page but responds with a 500.
        checkerOf(sent).onArrival(sent, status >= 200 && status < 300, time.now);
        return Number.isInteger(status) ? status : 500;
      },
    });
  }

  async start(name: string): Promise<void> {
    this.#model.name = name;
    const site = await createSite(this.#engine, name, {}, this.#time.now);
    this.#site = site.ID;
    await this.#updateEpoch(false);
    this.#hasFailures = this.random.chance(0.5);
    simulatedClock.skew = this.random.pick([0, 0, -3_600_000, 3_600_000]);
    for (let i = 0; i < this.random.whole(1, 2); i++) await this.#addWebhook(site, i);
    await this.#backUp();
    this.#kept.empty = this.#kept.backup;
    this.#remember();
    for (let i = 0; i < this.random.whole(1, 3); i++) this.#startProcess();
    await this.#change();
  }

  /** Does things to everything for this many milliseconds, while processes, the database and the network fail. */
  async runWithFailures(milliseconds: number): Promise<void> {
    const { random } = this;
    const end = this.#time.now + milliseconds;
    this.#network.failureProbability = random.pick([0, 0.2, 0.4, 0.7]);
    while (this.#time.now < end) {
      const [kill, fail, slow] = [
        random.pick([0, 0.002, 0.02]),
        random.pick([0, 0.01, 0.1]),
        random.pick([0, 0.05, 0.2]),
      ];
      for (const process of this.#processes)
        process.life.failureRates = this.#hasFailures ? { kill, fail, slow } : noFailures;
      await this.#act();
      await this.#time.pass(random.between(1, random.chance(0.1) ? 20_000 : 2000));
    }
  }

  /** Ends all failures and waits until everything should be delivered. An operator resumes every webhook, so that no long back-off is left. */
  async endFailures(): Promise<void> {
    this.#isRecovering = true;
    this.#network.endFailures();
    for (const process of this.#processes) process.life.failureRates = noFailures;
    // Change each resource, so that every webhook has an event, which reveals lost changes.
    for (const resource of ["brand", "order-status"]) await this.#commitChange(resource, "create");
    await this.#suspend(false);
    for (const webhook of this.#webhooks) await this.#resume(webhook);
    // Wait until all frozen processes are running again.
    for (let round = 0; round < 2; round++) {
      this.#startProcess();
      await this.#time.pass(60_000);
    }
  }

  async end(): Promise<SimulationReport> {
    const checkers = this.#webhooks.map(({ checker }) => checker);
    for (const checker of checkers) if (!checker.isRemoved) checker.atEnd();
    const stopping = Promise.all(this.#processes.filter(({ isAlive }) => isAlive).map((process) => process.stop()));
    await this.#time.pass(1000);
    await stopping;
    await removeSite(this.#engine, this.#model.name, this.#time.now);
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
    return {
      faults: checkers.flatMap(({ faults }) => faults),
      sends: sum(checkers.map(({ sends }) => sends)),
      repeats: sum(checkers.map(({ repeats }) => repeats)),
      gone: sum(checkers.map(({ gone }) => gone)),
      kills: this.#kills,
      rollbacks: this.#model.rollbacks,
    };
  }

  /** Does one random thing as a client, an operator or a machine. */
  async #act(): Promise<void> {
    const { random } = this;
    const webhook = random.pick(this.#webhooks);
    const acts: readonly (readonly [number, () => unknown])[] = [
      [45, () => this.#change()],
      [10, () => this.#disturb()],
      [10, () => this.#startProcess()],
      [4, () => this.#network.restart(webhook.url, random.between(100, 20_000))],
      [10, () => this.#resume(webhook)],
      [2, () => this.#pause(webhook)],
      [5, () => this.#rewind(webhook)],
      [2, () => this.#rotate(webhook)],
      [2, () => this.#prune()],
      [1, () => this.#renew()],
      [4, () => this.#suspend(random.chance(0.25))],
      [2, () => this.#backUp()],
      [3, () => this.#goBack(random.pick([this.#kept.empty, this.#kept.backup]))],
      [8, () => this.#remember()],
      [4, () => this.#loseCommits()],
      [1, () => this.#jump()],
      [0.5, () => this.#remove(webhook)],
    ];
    const at = random.between(0, 1) * acts.reduce((total, [weight]) => total + weight, 0);
    let sum = 0;
    for (const [weight, act] of acts) {
      sum += weight;
      if (at < sum) return void (await act());
    }
  }

  /** Kills, stops or freezes a process, preferably during a request. */
  #disturb(): void {
    const busy = this.#network.processes.filter(({ isAlive }) => isAlive);
    const process = this.random.pick(busy.length > 0 ? busy : this.#processes);
    if (!process?.isAlive) return;
    const how = this.random.next();
    if (how < 0.3) process.life.kill();
    else if (how < 0.7) void this.#stop(process);
    else process.life.freeze(this.random.between(100, 60_000));
  }

  /** Stops a process, and checks that it releases its leases. */
  async #stop(process: SimulatedProcess): Promise<void> {
    await process.stop();
    const states = await this.#time.during(() => this.#engine.readWebhookStates());
    const now = this.#time.now;
    if (Math.max(process.life.failedAt, this.#model.rolledBackAt) > now - failureEffectMs) return;
    for (const { webhook, holder, leaseUntil } of states)
      if (holder === process.name && leaseUntil > simulatedClock.now())
        this.#webhooks.find(({ id }) => id === webhook)?.checker.add(`${process.name} has stopped and keeps its lease`);
  }

  #startProcess(): void {
    this.#kills += this.#processes.filter(({ isAlive }) => !isAlive).length;
    this.#processes = this.#processes.filter(({ isAlive }) => isAlive);
    if (this.#processes.length >= 4) return;
    const onCommit = (callback: () => void) => {
      this.#listeners.add(callback);
      return () => void this.#listeners.delete(callback);
    };
    const [engine, time, random, network, plant] = [this.#engine, this.#time, this.random, this.#network, this.#plant];
    const options = { engine, time, random, network, plant, onCommit, meanwhile: () => this.#meanwhile() };
    this.#processes.push(new SimulatedProcess(`p${++this.#started}`, options));
  }

  /** Between a process's calls to the database, a client or an operator may do something. */
  async #meanwhile(): Promise<void> {
    const { random } = this;
    if (this.#isRecovering || !random.chance(0.05)) return;
    const webhook = random.pick(this.#webhooks);
    if (random.chance(0.8)) await this.#commitChange(random.pick(["brand", "order-status"]), "create");
    else if (random.chance(0.5)) await this.#resume(webhook);
    else await this.#rewind(webhook);
  }

  async #change(): Promise<void> {
    const { random } = this;
    const share = random.pick([0.03, 0.25, 0.9]);
    for (let i = random.whole(1, random.chance(0.15) ? 150 : 8); i > 0; i--) {
      const resource = random.chance(share) ? "order-status" : "brand";
      const existing = [...new Set(this.#model.changes.filter((c) => c.resource === resource).map(({ id }) => id))];
      const id = existing.length > 0 && random.chance(0.5) ? random.pick(existing) : undefined;
      await this.#commitChange(resource, id === undefined ? "create" : random.chance(0.3) ? "delete" : "update", id);
      if (random.chance(0.3)) this.#hint();
      if (random.chance(0.5)) await this.#time.pass(random.between(1, 8));
    }
    this.#hint();
  }

  /** Tells the processes that the site has changed. These hints may get lost. */
  #hint(): void {
    for (const listener of this.#listeners)
      if (this.random.chance(0.9)) this.#time.after(this.random.between(0, 50), listener);
  }

  async #commitChange(resource: string, operation: "create" | "update" | "delete", id?: number): Promise<void> {
    const valuesJson = operation === "delete" ? "{}" : JSON.stringify({ Name: `N ${this.random.whole(1, 1e9)}` });
    const at = this.#time.now;
    const change = { site: this.#site, resource, operation, id, valuesJson, actor: "sfk_x", at };
    const [outcome] = await this.#engine.commit([change]);
    if (outcome?.kind !== "done") return;
    this.#model.changes.push({ ...outcome.change, at });
    this.#model.changes.sort((one, other) => one.revision - other.revision);
  }

  async #addWebhook(site: SiteRecord, number: number): Promise<void> {
    const url = `http://127.0.0.1:${number + 1}/`;
    const followed = this.random.pick([[...paths.keys()], ["brands"], ["orderstatuses"]]);
    const resources = publicResources(allResources).filter(({ path }) => followed.includes(path));
    const settings = { url, resources, since: "now" } as const;
    const { webhook, secret } = await createWebhook(this.#engine, site, settings, policy, this.#time.now);
    const names = new Set(resources.map(({ name }) => name));
    this.#webhooks.push({ id: webhook.ID, url, checker: new WebhookChecker(this.#model, names, secret) });
  }

  async #pause({ id, checker }: SimulatedWebhook): Promise<void> {
    if (checker.isRemoved) return;
    await pauseWebhook(this.#engine, id, this.#time.now);
    checker.pausedAt ??= this.#time.now;
  }

  async #resume({ id, checker }: SimulatedWebhook): Promise<void> {
    if (checker.isRemoved) return;
    await resumeWebhook(this.#engine, id, policy, this.#time.now);
    checker.onResume(this.#time.now);
  }

  async #rewind({ id, checker }: SimulatedWebhook): Promise<void> {
    if (checker.isRemoved) return;
    const [head = { revision: 0, epoch: "" }] = await this.#engine.readHeads([this.#site]);
    const { floor } = await this.#engine.readJournalPage(this.#site, 0, 1);
    const revision = this.random.whole(Math.min(floor + 1, head.revision), head.revision);
    const cursor = await readCursorAt(this.#engine, this.#site, { ...head, revision });
    const { state } = await rewindWebhook(this.#engine, id, { cursor });
    checker.onRewind(state?.rewinds ?? 0, revision);
  }

  async #rotate({ id, checker }: SimulatedWebhook): Promise<void> {
    if (checker.isRemoved) return;
    checker.secrets.push((await rotateWebhook(this.#engine, id, this.#time.now)).secret);
  }

  async #remove({ id, checker }: SimulatedWebhook): Promise<void> {
    if (checker.isRemoved) return;
    await removeWebhook(this.#engine, id, this.#time.now);
    // A process that has read the webhook may still send.
    this.#time.after(30_000, () => {
      checker.isRemoved = true;
    });
    await this.#time.pass(30_000);
    // An earlier state would restore the webhook.
    for (const name of ["empty", "backup", "commits"] as const) this.#kept[name] = undefined;
  }

  async #suspend(isSuspended: boolean): Promise<void> {
    await setSite(this.#engine, this.#model.name, { isSuspended }, this.#time.now);
    this.#model.suspendedAt = isSuspended ? (this.#model.suspendedAt ?? this.#time.now) : undefined;
  }

  async #prune(): Promise<void> {
    const [head] = await this.#engine.readHeads([this.#site]);
    const through = (head?.revision ?? 0) - this.random.whole(1, 20);
    if (through < 1) return;
    this.#model.losses++;
    await this.#engine.pruneJournal(this.#site, through, 10_000);
  }

  async #renew(): Promise<void> {
    this.#model.losses++;
    await this.#engine.replaceEpochs();
    await this.#updateEpoch(true);
  }

  /** Reads the site's epoch. @param isNew whether it was replaced, which every receiver must be told */
  async #updateEpoch(isNew: boolean): Promise<void> {
    const [head] = await this.#engine.readHeads([this.#site]);
    this.#model.epoch = head?.epoch ?? "";
    for (const { checker } of this.#webhooks) checker.isGoneExpected = isNew;
  }

  async #backUp(): Promise<void> {
    const rows = await Array.fromAsync(this.#engine.dump());
    async function* all(): AsyncGenerator<DumpedRow> {
      yield* rows;
    }
    this.#kept.backup = { changes: [...this.#model.changes], goBack: () => this.#engine.replaceAllData(all()) };
  }

  #remember(): void {
    this.#kept.commits = { changes: [...this.#model.changes], goBack: this.#database.remember(this.#site) };
  }

  /** The database loses its last commits. Later commits may get the same revisions. */
  async #loseCommits(): Promise<void> {
    const { commits } = this.#kept;
    const lost = this.#model.changes.slice(commits?.changes.length);
    // The processes may have run on the machine that was lost.
    if (this.random.chance(0.5)) for (const process of this.#processes) process.life.kill();
    await this.#goBack(commits);
    this.#startProcess();
    if (this.random.chance(0.3)) return;
    for (const { resource } of lost) await this.#commitChange(resource, "create");
    this.#hint();
  }

  /** Rolls the database back to the state `kept`. The checkers take the webhooks' states from it. */
  async #goBack(kept: Kept | undefined): Promise<void> {
    if (!kept) return;
    await kept.goBack();
    const now = this.#time.now;
    this.#model.goBack(kept.changes, now);
    // A restore replaces the epoch; lost commits don't.
    await this.#updateEpoch(kept !== this.#kept.commits);
    if (kept !== this.#kept.commits) this.#remember();
    const { Suspended } = await getSite(this.#engine, this.#model.name);
    this.#model.suspendedAt = Suspended === "" ? undefined : now;
    for (const { ID, Paused } of await listWebhooks(this.#engine)) {
      const checker = this.#webhooks.find(({ id }) => id === ID)?.checker;
      checker?.onRollback();
      if (checker) checker.pausedAt = Paused === "" ? undefined : now;
    }
  }

  /** The operator sets the database's clock. */
  #jump(): void {
    simulatedClock.skew += this.random.whole(-30_000, 30_000);
    for (const { checker } of this.#webhooks) checker.jumpedAt = this.#time.now;
  }

  /** Commits, and tells the checker if a process paused or resumed a webhook. */
  async #commit(engine: Engine, [intents, options]: Parameters<Engine["commit"]>): ReturnType<Engine["commit"]> {
    const outcomes = await engine.commit(intents, options);
    const [intent] = intents;
    const isPause = intent?.site === systemSite && intent.actor === "webhook" && outcomes[0]?.kind === "done";
    const checker = isPause && this.#webhooks.find(({ id }) => id === intent.id)?.checker;
    if (checker) checker.pausedAt = JSON.parse(intent.valuesJson).Paused === "" ? undefined : this.#time.now;
    return outcomes;
  }

  /** Stores a webhook's state, and tells the checker its last attempt's result. */
  async #updateWebhook(
    engine: Engine,
    [key, expected, changes]: Parameters<Engine["compareAndSetWebhook"]>,
  ): Promise<boolean> {
    const [before] = await engine.readWebhookStates([key]);
    const isDone = await engine.compareAndSetWebhook(key, expected, changes);
    const webhook = this.#webhooks.find(({ id }) => id === key.webhook);
    const isByOperator = changes.rewinds !== undefined || changes.resumes !== undefined;
    if (!isDone || !before || !webhook || (isByOperator && changes.goneAt == null)) return isDone;
    const [after] = await engine.readWebhookStates([key]);
    if (changes.since !== undefined && changes.goneAt === null)
      webhook.checker.onSuccess(eventId(before, changes.cursor ?? ""), after?.failures ?? 0);
    if (changes.failures !== undefined && changes.failures > 0)
      this.#onFailure(webhook, webhook.checker.onFailure(before.holder ?? "", changes.nextAt ?? 0));
    return isDone;
  }

  /** After a 410, the webhook must be paused unless the process had failures. */
  #onFailure({ id, checker }: SimulatedWebhook, sent: Sent | undefined): void {
    if (sent?.status !== 410) return;
    const { process } = sent;
    const { rollbacks } = this.#model;
    const [now, resumes] = [this.#time.now, checker.resumes];
    this.#time.after(reactionMs, () => {
      const hasFailed = !process.isAlive || process.life.isFrozen || process.life.failedAt > now - failureEffectMs;
      const isSame = rollbacks === this.#model.rollbacks && resumes === checker.resumes && !checker.isRemoved;
      if (!hasFailed && isSame && checker.pausedAt === undefined) checker.add(`webhook ${id} continues after 410`);
    });
  }
}

/** The ID of the event being delivered. @param next the cursor after it */
function eventId({ webhook, epoch, first, last, rewinds, goneAt }: WebhookState, next: string): string {
  const [mark, revision] = next.split(".");
  const what = goneAt !== null ? `gone_${revision}_${goneAt}` : `${first}_${last}_${mark}`;
  return `evt_${webhook}_${epoch}_${what}${rewinds > 0 ? `_${rewinds}` : ""}`;
}
