// A seeded simulation of webhook delivery: real runners on a real SQLite database, in simulated processes with a simulated clock and network.
// Processes are killed, stopped and frozen at any point, calls to the database fail or hang, receivers are slow, fail, lie and restart, and
// an operator changes everything meanwhile. Then the trouble ends, and everything must have been delivered.

import { randomBytes } from "node:crypto";
import type { Engine } from "../../src/model/engine.ts";
import { servedOf } from "../../src/model/resource.ts";
import { systemSite } from "../../src/model/system-site.ts";
import type { WebhookState } from "../../src/model/webhooks.ts";
import { addSite } from "../../src/operator/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { webhook as webhookResource } from "../../src/resources/webhook.ts";
import { cursorAt } from "../../src/store/feed.ts";
import { putTestWebhook, type TestWebhook } from "../support/test-webhook.ts";
import { type SiteModel, WebhookChecker } from "./checker.ts";
import { Network, type Sent } from "./network.ts";
import { noFault, type PlantedFault } from "./planted-faults.ts";
import { noTroubles, SimulatedProcess } from "./process.ts";
import { Random } from "./random.ts";
import { SimulatedTime } from "./time.ts";

export interface SimulationOptions {
  readonly plant?: PlantedFault;
  /** Milliseconds of trouble, at most. */
  readonly longest?: number;
}

export interface SimulationReport {
  readonly faults: readonly string[];
  /** Requests, and those of them that were not the first of their event. */
  readonly sends: number;
  readonly repeats: number;
  /** Events that say that changes are gone. */
  readonly gone: number;
  readonly kills: number;
}

/** The clock of the database. */
export const simulatedClock = { now: () => current?.now ?? 0 };
let current: SimulatedTime | undefined;

const paths = new Map(servedOf(allResources).map(({ path, name }) => [path, name]));

interface SimulatedWebhook extends TestWebhook {
  readonly url: string;
  readonly checker: WebhookChecker;
}

/** Runs the simulation of `seed` on an engine that has `simulatedClock`. */
export async function simulate(
  engine: Engine,
  seed: number,
  options: SimulationOptions = {},
): Promise<SimulationReport> {
  const time = new SimulatedTime(Date.UTC(2030, 0, 1) + seed * 1000);
  current = time;
  const world = new World(engine, time, new Random(seed), options.plant ?? noFault);
  await world.begin(`s${seed}-${randomBytes(4).toString("hex")}`);
  await world.trouble(world.random.between(20_000, options.longest ?? 120_000));
  await world.calm();
  return world.end();
}

/** Kills a process during a request. Returns the simulated milliseconds until the other process sends. */
export async function takeOver(engine: Engine, seed: number): Promise<number> {
  const time = new SimulatedTime(Date.UTC(2031, 0, 1) + seed * 3_600_000);
  current = time;
  const random = new Random(seed);
  const sent: number[] = [];
  const network = new Network({ time, random, onSend: () => sent.push(time.now), onArrival: () => 200 });
  const options = { engine, time, random, network, plant: noFault, onCommit: () => () => {} };
  const site = await addSite(engine, `t${seed}-${randomBytes(4).toString("hex")}`, {}, time.now);
  const at = time.now;
  await engine.commit([
    { site: site.ID, resource: "brand", operation: "create", text: '{"Name":"a"}', actor: "sfk_x", at },
  ]);
  const webhook = await putTestWebhook(engine, site.ID, `http://127.0.0.1:${seed}/`);
  const processes = ["a", "b"].map((name) => new SimulatedProcess(name, options));
  // Both may want to send. The first does, and dies before it can have the response.
  while (sent.length === 0) await time.pass(1);
  const state = (await engine.webhookStates([webhook]))[0];
  await time.pass(random.between(0, 1));
  const killedAt = time.now;
  for (const process of processes) if (process.name === state?.holder) process.kill();
  await time.pass(60_000);
  const stopping = Promise.all(processes.filter(({ isAlive }) => isAlive).map((process) => process.stop()));
  await time.pass(1000);
  await stopping;
  await engine.removeWebhook(webhook);
  await engine.commit([
    {
      site: systemSite,
      resource: webhookResource.name,
      operation: "delete",
      id: webhook.webhook,
      text: "{}",
      actor: "operator",
      at,
    },
  ]);
  return (sent[1] ?? Number.POSITIVE_INFINITY) - killedAt;
}

class World {
  readonly random: Random;
  readonly #engine: Engine;
  readonly #time: SimulatedTime;
  readonly #plant: PlantedFault;
  readonly #network: Network;
  readonly #webhooks: SimulatedWebhook[] = [];
  readonly #listeners = new Set<() => void>();
  #processes: SimulatedProcess[] = [];
  #started = 0;
  #kills = 0;
  #site = 0;
  #model: SiteModel = { name: "", changes: [], losses: 0 };

  constructor(engine: Engine, time: SimulatedTime, random: Random, plant: PlantedFault) {
    this.random = random;
    this.#time = time;
    this.#plant = plant;
    this.#engine = { ...engine, updateWebhook: (...args) => this.#updateWebhook(engine, args) };
    const checkerOf = (sent: Sent) => this.#webhooks.find(({ url }) => url === sent.url)?.checker as WebhookChecker;
    this.#network = new Network({
      time,
      random,
      onSend: (sent) => checkerOf(sent).onSend(sent, time.now),
      onArrival: (sent, status) => {
        // A status with a fraction is one of a receiver that lies.
        checkerOf(sent).onArrival(sent, status >= 200 && status < 300);
        return Number.isInteger(status) ? status : 500;
      },
    });
  }

  async begin(name: string): Promise<void> {
    this.#model = { name, changes: [], losses: 0 };
    this.#site = (await addSite(this.#engine, name, {}, this.#time.now)).ID;
    await this.#change();
    for (let i = 0; i < this.random.whole(1, 2); i++) await this.#addWebhook(i);
    for (let i = 0; i < this.random.whole(1, 3); i++) this.#startProcess();
  }

  /** Lets everything go wrong for so many milliseconds. */
  async trouble(milliseconds: number): Promise<void> {
    const end = this.#time.now + milliseconds;
    this.#network.weather = { trouble: this.random.pick([0, 0.1, 0.3, 0.6]) };
    while (this.#time.now < end) {
      const [kill, fail] = [this.random.pick([0, 0.002, 0.02]), this.random.pick([0, 0.01, 0.1])];
      for (const process of this.#processes) process.troubles = { kill, fail, slow: this.random.pick([0, 0.05, 0.2]) };
      await this.#act();
      await this.#time.pass(this.random.between(1, this.random.chance(0.1) ? 20_000 : 2000));
    }
  }

  /** Ends all trouble, and waits until everything should be delivered. */
  async calm(): Promise<void> {
    this.#network.weather = { trouble: 0 };
    for (const process of this.#processes) process.troubles = noTroubles;
    await this.#change();
    // An operator resumes everything, so that no long pause has to be waited for.
    for (let round = 0; round < 2; round++) {
      for (const webhook of this.#webhooks) await this.#resume(webhook);
      this.#startProcess();
      await this.#time.pass(45_000);
    }
  }

  async end(): Promise<SimulationReport> {
    const checkers = this.#webhooks.map(({ checker }) => checker);
    for (const checker of checkers) if (!checker.isRemoved) checker.atEnd();
    const stopping = Promise.all(this.#processes.filter(({ isAlive }) => isAlive).map((process) => process.stop()));
    await this.#time.pass(1000);
    await stopping;
    for (const webhook of this.#webhooks) await this.#remove(webhook);
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
    return {
      faults: checkers.flatMap(({ faults }) => faults),
      sends: sum(checkers.map(({ sends }) => sends)),
      repeats: sum(checkers.map(({ repeats }) => repeats)),
      gone: sum(checkers.map(({ gone }) => gone)),
      kills: this.#kills,
    };
  }

  /** Something happens. */
  async #act(): Promise<void> {
    const { random } = this;
    const webhook = random.pick(this.#webhooks);
    const act = random.next();
    if (act < 0.5) await this.#change();
    else if (act < 0.6) this.#disturb(random.pick(this.#processes));
    else if (act < 0.66) this.#startProcess();
    else if (act < 0.72) this.#network.restart(webhook.url, random.between(100, 20_000));
    else if (act < 0.78) await this.#resume(webhook);
    else if (act < 0.82) await this.#pause(webhook);
    else if (act < 0.88) await this.#rewind(webhook);
    else if (act < 0.9) await this.#rotate(webhook);
    else if (act < 0.93) await this.#prune();
    else if (act < 0.94) await this.#renew();
    else if (act < 0.945) await this.#remove(webhook);
  }

  #disturb(process: SimulatedProcess | undefined): void {
    if (!process?.isAlive) return;
    const how = this.random.next();
    if (how < 0.4) process.kill();
    else if (how < 0.7) void process.stop();
    else process.freeze(this.random.between(100, 60_000));
  }

  #startProcess(): void {
    this.#kills += this.#processes.filter(({ isAlive }) => !isAlive).length;
    this.#processes = this.#processes.filter(({ isAlive }) => isAlive);
    if (this.#processes.length >= 4) return;
    const onCommit = (callback: () => void) => {
      this.#listeners.add(callback);
      return () => void this.#listeners.delete(callback);
    };
    const { random } = this;
    const options = {
      engine: this.#engine,
      time: this.#time,
      random,
      network: this.#network,
      plant: this.#plant,
      onCommit,
    };
    this.#processes.push(new SimulatedProcess(`p${++this.#started}`, options));
  }

  /** Some clients change some records. */
  async #change(): Promise<void> {
    for (let i = this.random.whole(1, this.random.chance(0.1) ? 150 : 8); i > 0; i--) {
      const resource = this.random.pick(["brand", "brand", "brand", "order-status"]);
      const existing = [...new Set(this.#model.changes.filter((c) => c.resource === resource).map(({ id }) => id))];
      const id = existing.length > 0 && this.random.chance(0.5) ? this.random.pick(existing) : undefined;
      const operation = id === undefined ? "create" : this.random.chance(0.3) ? "delete" : "update";
      const text = operation === "delete" ? "{}" : JSON.stringify({ Name: `N ${this.random.whole(1, 1e9)}` });
      const at = this.#time.now;
      const [outcome] = await this.#engine.commit([
        { site: this.#site, resource, operation, id, text, actor: "sfk_x", at },
      ]);
      if (outcome?.kind === "done") this.#model.changes.push({ ...outcome.change, at });
    }
    // A hint may be lost.
    for (const listener of this.#listeners)
      if (this.random.chance(0.9)) this.#time.after(this.random.between(0, 50), listener);
  }

  async #addWebhook(number: number): Promise<void> {
    const url = `http://127.0.0.1:${number + 1}/`;
    const resources = this.random.pick(["", "", "brands", "orderstatuses", "brands"]);
    const added = await putTestWebhook(this.#engine, this.#site, url, { resources });
    const followed = resources === "" ? [...paths.keys()] : resources.split(" ");
    const names = new Set(followed.map((path) => paths.get(path) as string));
    const checker = new WebhookChecker(this.#model, names, added.secret);
    this.#webhooks.push({ ...added, url, checker });
  }

  async #pause({ webhook: id, checker }: SimulatedWebhook): Promise<void> {
    if (checker.isRemoved) return;
    await this.#update(id, { Paused: new Date(this.#time.now).toISOString(), Reason: "" });
    checker.pausedAt ??= this.#time.now;
  }

  async #resume({ webhook: id, site, checker }: SimulatedWebhook): Promise<void> {
    if (checker.isRemoved) return;
    await this.#changeState({ webhook: id, site }, () => ({ failures: 0, failingSince: null, nextAt: 0 }));
    checker.pausedAt = undefined;
    await this.#update(id, { Paused: "", Reason: "" });
  }

  async #rewind({ webhook, site, checker }: SimulatedWebhook): Promise<void> {
    if (checker.isRemoved) return;
    const [head] = await this.#engine.heads([site]);
    const { floor } = await this.#engine.journal(site, 0, 1);
    const revision = this.random.whole(Math.min(floor + 1, head?.revision ?? 0), head?.revision ?? 0);
    const epoch = head?.epoch ?? "";
    const cursor = await cursorAt(this.#engine, site, { revision, epoch });
    await this.#changeState({ webhook, site }, ({ rewinds }) => {
      checker.rewinds[rewinds] = revision;
      return { cursor, epoch, first: 0, last: 0, isGone: 0, nextAt: 0, rewinds: rewinds + 1 };
    });
  }

  async #rotate({ webhook, site, checker }: SimulatedWebhook): Promise<void> {
    if (checker.isRemoved) return;
    const secret = `whsec_${randomBytes(32).toString("base64")}`;
    checker.secrets.push(secret);
    const at = this.#time.now;
    await this.#engine.addWebhookSecret({ webhook, site }, secret, at, at + 86_400_000);
  }

  async #prune(): Promise<void> {
    const [head] = await this.#engine.heads([this.#site]);
    const through = (head?.revision ?? 0) - this.random.whole(1, 20);
    if (through < 1) return;
    this.#model.losses++;
    await this.#engine.prune(this.#site, through, 10_000);
  }

  async #renew(): Promise<void> {
    this.#model.losses++;
    await this.#engine.renew();
  }

  async #remove({ webhook, site, checker }: SimulatedWebhook): Promise<void> {
    if (checker.isRemoved) return;
    await this.#commitRecord(webhook, "delete", "{}");
    await this.#engine.removeWebhook({ webhook, site });
    // A process that was about to send does so still.
    this.#time.after(30_000, () => {
      checker.isRemoved = true;
    });
    await this.#time.pass(30_000);
  }

  #update(id: number, values: Record<string, string>): Promise<void> {
    return this.#commitRecord(id, "update", JSON.stringify(values));
  }

  async #commitRecord(id: number, operation: "update" | "delete", text: string): Promise<void> {
    const resource = webhookResource.name;
    await this.#engine.commit([
      { site: systemSite, resource, operation, id, text, actor: "operator", at: this.#time.now },
    ]);
  }

  async #changeState(key: { site: number; webhook: number }, change: (state: WebhookState) => Partial<WebhookState>) {
    for (;;) {
      const [state] = await this.#engine.webhookStates([key]);
      if (!state) return;
      const { cursor, rewinds, resumes } = state;
      if (await this.#engine.updateWebhook(key, { cursor, rewinds, resumes }, change(state))) return;
    }
  }

  /** Tells the checker which event the receiver has by now, as far as the database knows. */
  async #updateWebhook(
    engine: Engine,
    [key, expected, changes]: Parameters<Engine["updateWebhook"]>,
  ): Promise<boolean> {
    const [before] = await engine.webhookStates([key]);
    const isDone = await engine.updateWebhook(key, expected, changes);
    const isPassed = isDone && before && before.first > 0 && changes.cursor !== undefined && changes.failures === 0;
    if (isPassed) {
      const suffix = before.rewinds > 0 ? `_${before.rewinds}` : "";
      const id = `evt_${key.webhook}_${before.epoch}_${before.first}_${before.last}_${changes.cursor?.split(".")[0]}${suffix}`;
      this.#webhooks.find(({ webhook }) => webhook === key.webhook)?.checker.onCursor(id);
    }
    return isDone;
  }
}
