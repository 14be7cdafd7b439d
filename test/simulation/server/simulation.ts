// A seeded simulation of whole servers: the real code from request to statements, in simulated processes on one database in memory. Clients write, read and
// follow while processes are killed, reloaded and frozen, calls to the database fail or hang, responses get lost, an operator restores and renews the database
// and revokes keys, and a failover loses commits. The checker compares every response with what the database had.

import type { DumpedRow, Engine } from "../../../src/model/engine.ts";
import { publicResources } from "../../../src/model/resource.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey, revokeKey } from "../../../src/operator/sites/keys.ts";
import { createSite, getSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { buildSnapshot } from "../../../src/store/memory/site-loader.ts";
import { Snapshot } from "../../../src/store/memory/snapshot.ts";
import type { SiteRecord } from "../../../src/system/system-records.ts";
import { openSimulatedDatabase, type SimulatedDatabase } from "../database.ts";
import { onSimulatedMachine } from "../machine.ts";
import { type FailureRates, noFailures } from "../process-life.ts";
import { Random } from "../random.ts";
import { SimulatedTime, simulatedClock } from "../time.ts";
import { ServerChecker } from "./checker.ts";
import { type ClientKey, FollowingClient, WritingClient } from "./clients.ts";
import { ServerNetwork } from "./network.ts";
import type { PlantedServerFault } from "./planted-faults.ts";
import { type EngineKind, ServerProcess } from "./process.ts";
import { withTimeline } from "./timeline.ts";
import { type Moment, Truth } from "./truth.ts";

export interface ServerReport {
  readonly faults: readonly string[];
  /** SHA-256 of everything that happened. */
  readonly digest: string;
  readonly counts: Readonly<Record<ServerEvent, number>>;
}

const events = [
  "requests",
  "commits",
  "transactions",
  "kills",
  "reloads",
  "restores",
  "renewals",
  "failovers",
  "restarts",
  "revocations",
] as const;
export type ServerEvent = (typeof events)[number];

export interface ServerOptions {
  readonly plant?: PlantedServerFault;
  /** Called with a line for everything that happens. */
  readonly trace?: (line: string) => void;
}

/** Longest pause between a client's requests; each seed picks one. With long pauses, a poll waits for a single change. */
const pausesMs = [20, 200, 1000, 5000];
/** The same for clients that follow the feed. */
const maxFollowerPauseMs = 200;
const siteName = "shop";
/** Probability that clients use the site's sandbox. */
const sandboxes = 0.3;
/** How long clients may take to finish, and a final read. */
const maxEndMs = 300_000;

/** Runs the simulation of `seed`. The same seed gives the same report. */
export async function simulateServers(
  seed: number,
  { plant, trace = () => {} }: ServerOptions = {},
): Promise<ServerReport> {
  const random = new Random(seed);
  const time = new SimulatedTime(Date.UTC(2030, 0, 1) + seed * 1000);
  simulatedClock.time = time;
  simulatedClock.skew = 0;
  const database = openSimulatedDatabase();
  const undo = plant?.install?.();
  try {
    return await onSimulatedMachine(time, new Random(~seed), async () => {
      const simulation = new ServerSimulation({ database, time, random, plant, trace });
      const pauseMs = await simulation.start();
      await simulation.runWithFailures(random.between(2000, 8000 + 6 * pauseMs));
      return simulation.end();
    });
  } finally {
    undo?.();
    database.close();
  }
}

interface SimulationParts {
  readonly database: SimulatedDatabase;
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly plant: PlantedServerFault | undefined;
  readonly trace: (line: string) => void;
}

/** A state that a restore or failover goes back to. */
interface Kept {
  readonly moment: Moment;
  readonly site: SiteRecord;
  goBack(): Promise<unknown>;
}

class ServerSimulation {
  readonly #parts: SimulationParts;
  readonly #kind: EngineKind;
  readonly #engine: Engine;
  readonly #truth: Truth;
  readonly #checker: ServerChecker;
  readonly #network: ServerNetwork;
  readonly #hash = new Bun.CryptoHasher("sha256");
  readonly #counts = Object.fromEntries(events.map((name) => [name, 0])) as Record<ServerEvent, number>;
  readonly #writers: WritingClient[] = [];
  readonly #followers: FollowingClient[] = [];
  readonly #runs: Promise<void>[] = [];
  /** Commits of any kind, including other sites'. */
  #commits = 0;
  #timeline = 1;
  #tokens = 0;
  #started = 0;
  #processes: ServerProcess[] = [];
  /** The only process the network reaches; undefined for all. */
  #only: ServerProcess | undefined;
  #backup: Kept | undefined;
  #remembered: Kept | undefined;
  /** The site that clients use. */
  #site = {} as SiteRecord;
  /** Whether that's a sandbox, not the host's site. */
  #isSandbox = false;
  /** Whether calls to the database may fail. */
  #hasFailures = false;

  constructor(parts: SimulationParts) {
    const { database, time, random } = parts;
    this.#parts = parts;
    this.#kind = random.pick(["embedded", "remote"]);
    this.#truth = new Truth(() => time.now);
    database.onTransaction = (intents, outcomes, isTogether) =>
      isTogether ? this.#truth.onCommitTogether(intents, outcomes) : this.#truth.onCommit(intents, outcomes);
    this.#checker = new ServerChecker(this.#truth);
    const { engine } = database;
    engine.subscribeToCommits(() => this.#commits++);
    this.#engine = withTimeline(this.#observed(engine), () => (this.#kind === "remote" ? this.#timeline : undefined));
    this.#network = new ServerNetwork({
      time,
      random,
      truth: this.#truth,
      processes: () => (this.#only ? [this.#only] : this.#processes),
      trace: (line) => this.#trace(line),
    });
  }

  /** Creates the site, clients and processes. Returns the longest pause between a client's requests. */
  async start(): Promise<number> {
    const { time, random } = this.#parts;
    this.#site = await createSite(this.#engine, siteName, { isDefault: true }, time.now);
    this.#isSandbox = random.chance(sandboxes);
    if (this.#isSandbox) await this.#makeSandbox();
    else this.#truth.onPublished(this.#site.ID, await this.#readEpoch());
    this.#hasFailures = random.chance(0.5);
    for (let i = random.whole(2, 4); i > 0; i--)
      this.#writers.push(new WritingClient(await this.#newKey(), this.#clientOptions()));
    for (let i = random.whole(1, 2); i > 0; i--)
      this.#followers.push(new FollowingClient(await this.#newKey(), this.#clientOptions()));
    await this.#backUp();
    this.#remember();
    for (let i = random.whole(1, 3); i > 0; i--) this.#startProcess();
    const pauseMs = random.pick(pausesMs);
    for (const writer of this.#writers) this.#runs.push(writer.run(pauseMs));
    for (const follower of this.#followers) this.#runs.push(follower.run(Math.min(pauseMs, maxFollowerPauseMs)));
    return pauseMs;
  }

  /** Does things to everything for this many milliseconds, while processes, the database and the network fail. */
  async runWithFailures(milliseconds: number): Promise<void> {
    const { time, random } = this.#parts;
    const end = time.now + milliseconds;
    while (time.now < end) {
      const [kill, fail, slow] = [random.pick([0, 0, 0.01]), random.pick([0, 0.02, 0.1]), random.pick([0, 0.02, 0.1])];
      this.#setFailures(this.#hasFailures ? { kill, fail, slow } : noFailures);
      this.#network.lossProbability = random.pick([0, 0.1, 0.3]);
      await time.pass(random.between(1, random.chance(0.2) ? 3000 : 800));
      await this.#act();
    }
  }

  /** Ends all failures, lets clients finish, and compares everything with the database. */
  async end(): Promise<ServerReport> {
    this.#setFailures(noFailures);
    this.#network.lossProbability = 0;
    for (const client of [...this.#writers, ...this.#followers]) client.end();
    await this.#wait("the clients do not end", Promise.all(this.#runs));
    this.#startProcess();
    await this.#parts.time.pass(25_000);
    for (const process of this.#processes.filter(({ life, isStopping }) => life.isAlive && !isStopping)) {
      this.#only = process;
      await this.#wait(`the final reads of ${process.name} do not end`, this.#compare(process));
    }
    await this.#compareJournal();
    this.#counts.restarts = this.#followers.reduce((sum, { restarts }) => sum + restarts, 0);
    const faults = [...this.#truth.faults, ...this.#checker.faults];
    for (const process of this.#processes) process.kill();
    return { faults, digest: this.#hash.digest("hex"), counts: this.#counts };
  }

  #clientOptions() {
    const { time, random } = this.#parts;
    const [network, checker, truth] = [this.#network, this.#checker, this.#truth];
    return { time, random, network, checker, truth, newToken: () => `w${++this.#tokens}` };
  }

  #trace(line: string): void {
    const { time, trace } = this.#parts;
    this.#counts.requests += line.includes(" -> ") ? 1 : 0;
    const full = `${time.now} ${line}`;
    this.#hash.update(`${full}\n`);
    trace(full);
  }

  async #wait(fault: string, work: Promise<unknown>): Promise<void> {
    const { time } = this.#parts;
    let isDone = false;
    work.then(
      () => {
        isDone = true;
      },
      (error) => {
        isDone = true;
        this.#checker.fault(`${fault}: ${error?.stack ?? error}`);
      },
    );
    for (const end = time.now + maxEndMs; !isDone && time.now < end; ) await time.pass(1000);
    if (!isDone) this.#checker.fault(fault);
  }

  /** Does one random thing as an operator or a machine. */
  async #act(): Promise<void> {
    const { random } = this.#parts;
    const acts: readonly (readonly [number, string, () => unknown])[] = [
      [10, "", () => {}],
      [6, "kill", () => this.#kill()],
      [6, "reload", () => this.#reload()],
      [3, "freeze", () => random.pick(this.#processes)?.life.freeze(random.between(10, 8000))],
      [6, "start", () => this.#startProcess()],
      [4, "back up", () => this.#backUp()],
      [4, "restore", () => this.#restore()],
      [3, "renew", () => this.#renew()],
      [this.#isSandbox ? 5 : 0, "renew the sandbox", () => this.#makeSandbox()],
      [6, "remember", () => this.#remember()],
      [5, "lose commits", () => this.#loseCommits()],
      [8, "revoke", () => this.#revoke()],
      [3, "prune", () => this.#prune()],
      [2, "jump", () => random.pick(this.#processes)?.jump(random.whole(-600_000, 600_000))],
    ];
    const at = random.between(0, 1) * acts.reduce((total, [weight]) => total + weight, 0);
    let sum = 0;
    for (const [weight, name, act] of acts) {
      sum += weight;
      if (at >= sum) continue;
      this.#trace(`act: ${name}`);
      return void (await act());
    }
  }

  #setFailures(rates: FailureRates): void {
    for (const { life } of this.#processes) life.failureRates = rates;
  }

  #startProcess(): void {
    const { database, time, random, plant } = this.#parts;
    this.#processes = this.#processes.filter(({ life }) => life.isAlive);
    if (this.#processes.filter(({ isStopping }) => !isStopping).length >= 3) return;
    const shared = { database, engine: this.#engine, kind: this.#kind, time, random, plant };
    const process = new ServerProcess(`p${++this.#started}`, {
      ...shared,
      commits: () => this.#commits,
      meanwhile: async () => {},
      onKill: (killed) => this.#network.onKill(killed),
      onDifferences: (found) => this.#checker.fault(`a change does not fit: ${JSON.stringify(found)}`),
    });
    this.#processes.push(process);
  }

  #kill(): void {
    this.#counts.kills++;
    this.#parts.random.pick(this.#processes)?.kill();
    if (this.#parts.random.chance(0.7)) this.#startProcess();
  }

  /** Starts another process, then stops one, like a reload. */
  #reload(): void {
    const process = this.#parts.random.pick(this.#processes);
    if (!process || process.isStopping) return;
    this.#counts.reloads++;
    void process.stop();
    this.#startProcess();
  }

  async #newKey(): Promise<ClientKey> {
    const { key, record } = await createKey(this.#engine, this.#site, {}, this.#parts.time.now);
    return { key, prefix: record.Prefix };
  }

  /** Revokes a client's key, and gives it another, soon or after a while. */
  async #revoke(): Promise<void> {
    const { random, time } = this.#parts;
    const client = random.pick([...this.#writers, ...this.#followers]);
    this.#counts.revocations++;
    // A restore may have removed the key.
    if (this.#truth.latest.keys.has(client.key.prefix)) await revokeKey(this.#engine, client.key.prefix, time.now);
    time.after(random.between(0, 1000), async () => {
      client.key = await this.#newKey();
    });
  }

  async #backUp(): Promise<void> {
    const rows = await Array.fromAsync(this.#engine.dump());
    async function* all(): AsyncGenerator<DumpedRow> {
      yield* rows;
    }
    this.#backup = { moment: this.#truth.latest, site: this.#site, goBack: () => this.#engine.replaceAllData(all()) };
  }

  async #restore(): Promise<void> {
    if (!this.#backup) return;
    this.#counts.restores++;
    await this.#backup.goBack();
    await this.#onRollback(this.#backup);
    this.#requireNewHistory("a restore");
    this.#remember();
  }

  async #renew(): Promise<void> {
    await this.#engine.replaceEpochs();
    await this.#onRollback({ moment: this.#truth.latest, site: this.#site });
    this.#requireNewHistory("renew");
    this.#remember();
  }

  /** Saves the state that a standby has. */
  #remember(): void {
    if (this.#kind !== "remote") return;
    this.#remembered = { moment: this.#truth.latest, site: this.#site, goBack: this.#parts.database.remember() };
  }

  /** A standby that lacks the last commits becomes the primary. */
  async #loseCommits(): Promise<void> {
    if (!this.#remembered) return;
    this.#counts.failovers++;
    await this.#remembered.goBack();
    this.#timeline++;
    this.#commits++;
    this.#checker.onFailover(this.#remembered.moment.revision);
    await this.#onRollback(this.#remembered);
  }

  async #onRollback({ moment, site }: Pick<Kept, "moment" | "site">): Promise<void> {
    this.#site = site;
    this.#truth.onRollback(moment, site.ID, await this.#readEpoch());
    this.#trace(`the database is at ${moment.revision}`);
  }

  async #readEpoch(): Promise<string> {
    const [head] = await this.#engine.readHeads([this.#site.ID]);
    return head?.epoch ?? "";
  }

  /** Creates the sandbox that clients use, or replaces it with a copy of the host's site. */
  async #makeSandbox(): Promise<void> {
    const { time, random } = this.#parts;
    this.#counts.renewals++;
    const live = await getSite(this.#engine, siteName);
    const valuesJson = JSON.stringify({ Name: `live ${time.now}` });
    const record = { site: live.ID, resource: random.pick(["brand", "order-status"]), operation: "create" } as const;
    await this.#engine.commit([{ ...record, valuesJson, actor: "operator", at: time.now }]);
    this.#site = (await makeSandbox(this.#engine, siteName, { now: () => time.now })).site;
    this.#truth.onPublished(this.#site.ID, await this.#readEpoch());
    this.#requireNewHistory("a new sandbox");
  }

  #requireNewHistory(cause: string): void {
    const { moments, latest } = this.#truth;
    if (moments.slice(0, -1).some(({ history }) => history === latest.history))
      this.#checker.fault(`${cause} has not begun a new history`);
  }

  async #prune(): Promise<void> {
    const through = this.#truth.latest.revision - this.#parts.random.whole(1, 20);
    if (through < 1) return;
    this.#truth.prunedThrough = Math.max(this.#truth.prunedThrough, through);
    await this.#engine.pruneJournal(this.#site.ID, through, 10_000);
  }

  /** The engine, with its commits counted. */
  #observed(engine: Engine): Engine {
    return {
      ...engine,
      commit: async (intents, options) => {
        const outcomes = await engine.commit(intents, options);
        this.#counts.commits++;
        return outcomes;
      },
      commitAtomically: async (batches, onOutcomes, options) => {
        const result = await engine.commitAtomically(batches, onOutcomes, options);
        this.#counts.transactions += Number(result.kind === "committed");
        return result;
      },
      replaceEpoch: async (site, epoch) => {
        const head = (await engine.replaceEpoch?.(site, epoch)) as { epoch: string; revision: number };
        if (site === this.#site.ID) this.#truth.onEpoch(head.epoch);
        return head;
      },
    };
  }

  /** Reads everything through one process, and compares its snapshot with a new one of the database. */
  async #compare(process: ServerProcess): Promise<void> {
    const key = await this.#newKey();
    const reader = new WritingClient(key, this.#clientOptions());
    for (const { path } of publicResources(allResources)) await reader.readList(path);
    for (const record of this.#truth.latest.records.keys()) await reader.readRecord(record);
    for (const follower of this.#followers) await this.#compareCopy(follower, key);
    const view = await process.siteViews.getUpToDate(this.#site.ID);
    const cached = view instanceof Snapshot ? view : await view.loadSnapshot();
    const loaded = await this.#engine.readSite(this.#site.ID, (contents) =>
      buildSnapshot(this.#site.ID, contents, allResources),
    );
    if (textOf(cached) !== textOf(loaded))
      this.#checker.fault(
        `the snapshot of ${process.name} is ${textOf(cached)}, and the database has ${textOf(loaded)}`,
      );
  }

  /** Lets a follower read to the end of the feed. Its copy must then equal the site. */
  async #compareCopy(follower: FollowingClient, key: ClientKey): Promise<void> {
    follower.key = key;
    for (let pages = this.#truth.latest.revision + 5; pages > 0 && !(await follower.follow(0)); pages--);
    const copy = JSON.stringify([...follower.copy].sort());
    const records = JSON.stringify(
      [...this.#truth.latest.records].map(([record, { shown }]) => [record, shown]).sort(),
    );
    if (copy !== records) this.#checker.fault(`the copy of a follower is ${copy}, and the site is ${records}`);
  }

  /** Compares the stored journal with the commits we've seen. */
  async #compareJournal(): Promise<void> {
    const { floor, head, entries } = await this.#engine.readJournalPage(this.#site.ID, 0, 1_000_000);
    const { lineage, revision } = this.#truth.latest;
    const bodies = JSON.stringify(entries.map(({ body }) => body));
    const expected = JSON.stringify(lineage.slice(floor, revision).map(({ change }) => change.body));
    if (head.revision !== revision || bodies !== expected)
      this.#checker.fault(
        `the journal has ${head.revision} changes, which are not the ${revision} that were committed`,
      );
  }
}

/** Returns everything in a snapshot. */
function textOf(snapshot: Snapshot): string {
  const records = publicResources(allResources).map((resource) =>
    [...snapshot.collection(resource)].map(({ id, revision, json }) => [id, revision, json]).sort(),
  );
  return JSON.stringify([snapshot.epoch, snapshot.revision, records]);
}
