// Makes a program's n-th call fail, for n from 1 until a run doesn't get that far, as SQLite's own tests do. Each run must end with success or a clear error,
// nothing acknowledged may be lost, and the next start must work.

import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorMessage } from "../../../src/lib/errors-for-log.ts";
import { backUp } from "../../../src/operator/backup/backup.ts";
import { createSite, getSite } from "../../../src/operator/sites/sites.ts";
import { Random } from "../../../test/simulation/random.ts";
import { Client, NoResponseError } from "./client.ts";
import { Expected } from "./expected.ts";
import { type CallFault, type CommandResult, Lab } from "./lab.ts";
import { addBrands, csvOf, namesOf, noSite, prepareSite, readNames, readNamesInFile } from "./story.ts";

/** What fails, with ENOSPC (28), EIO (5) or ENOMEM (12). `name` means creating, renaming or removing a file; `memory` maps the index of SQLite's log. */
const calls = [
  { kind: "write", errno: 28 },
  { kind: "write", errno: 5 },
  { kind: "sync", errno: 5 },
  { kind: "name", errno: 28 },
  { kind: "memory", errno: 12 },
] as const;

/** Limits for SQLite's heap, in bytes. Allocations fail later and later, until a run passes. */
const heapLimits = Array.from({ length: 40 }, (_, n) => Math.round(16_000 * 1.1 ** n));

/** More calls than any run has. */
const never = 1 << 30;

/** A run of the program in which calls fail, after `prepare`. */
interface Scenario {
  readonly name: string;
  readonly prepare: (lab: Lab, outside: string) => Promise<void>;
  /** Returns faults, and a check to run once the disk works again. */
  readonly run: (lab: Lab, outside: string) => Promise<{ faults: string[]; verify: (lab: Lab) => Promise<string[]> }>;
}

const oldNames = namesOf("old", 40);
const addedNames = namesOf("added", 40);

/** A single command. @param read reads what the command changes @param after the state after the command */
function command(
  name: string,
  args: (outside: string) => readonly string[],
  read: (lab: Lab, outside: string) => Promise<readonly string[]>,
  [before, after]: readonly [readonly string[], readonly string[]],
  prepare: Scenario["prepare"] = async (lab) => void (await prepareSite(lab, oldNames)),
): Scenario {
  return {
    name,
    prepare,
    async run(lab, outside) {
      const result = await lab.run(...args(outside));
      const expected = new Expected(name, before);
      expected.add({ sent: 0, acknowledged: result.status === 0 ? 1 : undefined, change: () => after });
      return { faults: errorsOf(result), verify: async (tried) => expected.check(await read(tried, outside), 1) };
    },
  };
}

/** Returns what's wrong with how a command ended. A failure must come with a message for the reader, and without a stack trace. */
function errorsOf({ status, stderr }: CommandResult): string[] {
  if (status === 0 || (/^storefront: \S/m.test(stderr) && !/^\s+at /m.test(stderr))) return [];
  return [`ended with ${status} without a clear error: ${stderr.slice(0, 500)}`];
}

const names = (lab: Lab) => lab.open((engine) => readNames(engine));

const scenarios: readonly Scenario[] = [
  command(
    "first start",
    () => ["site", "add", "main", "--default"],
    names,
    [noSite, []],
    async () => {},
  ),
  command(
    "import --atomic",
    (outside) => ["import", "--site", "main", "--atomic", "brands", join(outside, "added.csv")],
    names,
    [oldNames, [...oldNames, ...addedNames]],
  ),
  command(
    "backup",
    (outside) => ["backup", join(outside, "files", "shop.backup")],
    (_, outside) => readNamesInFile("storefront", join(outside, "files", "shop.backup")),
    [[], oldNames],
  ),
  command(
    "restore",
    (outside) => ["restore", join(outside, "then.backup")],
    names,
    [oldNames, addedNames],
    async (lab, outside) => {
      const other = new Lab({ main: "", database: "shop.db" });
      await prepareSite(other, addedNames);
      await other.open((engine) => backUp(engine, join(outside, "then.backup"), Date.now()));
      other.remove();
      await prepareSite(lab, oldNames);
    },
  ),
  server(),
];

function server(): Scenario {
  let key = "";
  return {
    name: "server",
    prepare: async (lab) => {
      key = await prepareSite(lab);
    },
    async run(lab) {
      const client = new Client(lab, key, "client");
      const faults: string[] = [];
      try {
        const running = await lab.serve();
        await client.write(running.url, 2).catch((error) => {
          if (!(error instanceof NoResponseError)) throw error;
        });
        await running.end("SIGTERM");
      } catch (error) {
        if (!/storefront: \S/.test(errorMessage(error)) || /\n\s+at /.test(errorMessage(error)))
          faults.push(errorMessage(error));
      }
      const unclear = client.failures.filter((text) => !/^(50[03]|404) \{/.test(text));
      return {
        faults: [...faults, ...unclear.map((text) => `a request got ${text.slice(0, 300)}`)],
        verify: async (tried) => client.expected.check(await names(tried), Number.POSITIVE_INFINITY),
      };
    },
  };
}

export interface FaultOptions {
  readonly recorder: string;
  readonly main: string;
  /** src/main.ts of a copy that limits SQLite's heap (`heapLimit` in planted.ts). */
  readonly heapMain: string;
  readonly seed: number;
  /** Runs per kind of call in a scenario; `Infinity` tries every n. */
  readonly perKind: number;
  /** When to stop, by `performance.now()`. */
  readonly until: number;
}

export interface FaultReport {
  readonly name: string;
  readonly runs: number;
  /** Whether time ran out before all chosen calls were tried. */
  readonly isShortened: boolean;
  readonly faults: readonly string[];
}

/** Runs all scenarios with `text` in their name. @param onReport called after each */
export async function failCalls(
  text: string,
  options: FaultOptions,
  onReport: (report: FaultReport) => void,
): Promise<void> {
  const chosen = scenarios.filter(({ name }) => name.includes(text));
  for (const [n, scenario] of chosen.entries()) {
    const share = (options.until - performance.now()) / (chosen.length - n);
    const until = performance.now() + share;
    const outside = mkdtempSync(join(tmpdir(), "storefront-faults-"));
    try {
      onReport(await failScenario(scenario, outside, { ...options, until }));
    } finally {
      rmSync(outside, { recursive: true, force: true });
    }
  }
}

async function failScenario(scenario: Scenario, outside: string, options: FaultOptions): Promise<FaultReport> {
  const random = new Random(options.seed);
  const template = new Lab({ main: options.main, database: databaseOf(scenario) });
  writeFileSync(join(outside, "added.csv"), csvOf(addedNames));
  await scenario.prepare(template, outside);
  const faults: string[] = [];
  let runs = 0;
  for (const { kind, errno } of calls) {
    const { calls: count } = await runOnce(scenario, template, outside, options, {
      kind,
      errno,
      n: never,
      stays: false,
    });
    for (const n of chooseNumbers(count, options.perKind, random)) {
      if (performance.now() > options.until) break;
      const stays = random.chance(0.5);
      const { found } = await runOnce(scenario, template, outside, options, { kind, errno, n, stays });
      runs++;
      const which = `${kind} ${n} of ${count} fails with ${errno}${stays ? ", and all later ones" : ""}`;
      faults.push(...found.map((fault) => `${which}: ${fault}`));
    }
  }
  for (const n of chooseNumbers(heapLimits.length, options.perKind, random)) {
    if (performance.now() > options.until) break;
    const heapBytes = heapLimits[n - 1] as number;
    const { found } = await runOnce(scenario, template, outside, { ...options, main: options.heapMain }, heapBytes);
    runs++;
    faults.push(...found.map((fault) => `with ${heapBytes} bytes for SQLite: ${fault}`));
  }
  template.remove();
  const isShortened = performance.now() > options.until;
  return { name: scenario.name, runs, isShortened, faults: faults.slice(0, 20) };
}

function databaseOf({ name }: Scenario): string {
  return name === "first start" ? "new/shop.db" : "shop.db";
}

/** Returns 1 to `count`, or a random choice of `most` of these. */
function chooseNumbers(count: number, most: number, random: Random): number[] {
  const all = Array.from({ length: count }, (_, n) => ({ n: n + 1, order: random.next() }));
  const chosen = all.sort((a, b) => a.order - b.order).slice(0, Math.min(count, most));
  return chosen.map(({ n }) => n).sort((a, b) => a - b);
}

async function runOnce(
  scenario: Scenario,
  template: Lab,
  outside: string,
  { recorder, main }: FaultOptions,
  fault: CallFault | number,
): Promise<{ calls: number; found: string[] }> {
  const folder = join(outside, "files");
  cpSync(template.folder, folder, { recursive: true });
  const asked = typeof fault === "number" ? { heapBytes: fault } : { recorder, fault };
  const lab = new Lab({ main, database: databaseOf(scenario), folder, ...asked });
  try {
    const { faults, verify } = await scenario.run(lab, outside);
    const found = [...faults, ...(await verify(lab)), ...(await tryNextStart(lab))];
    return { calls: lab.faultCalls, found };
  } catch (error) {
    return { calls: lab.faultCalls, found: [`the next start fails: ${errorMessage(error)}`] };
  } finally {
    lab.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Opens the database as the next start would, checks it, and writes. */
async function tryNextStart(lab: Lab): Promise<string[]> {
  return lab.open(async (engine) => {
    const found = (await engine.findInconsistencies()).filter((fault) => !/in progress or was interrupted/.test(fault));
    await createSite(engine, "probe", {}, Date.now());
    await addBrands(engine, (await getSite(engine, "probe")).ID, ["probe"]);
    const isWritten = (await readNames(engine, "probe")).length === 1;
    return [...found.map((fault) => `\`check\` finds: ${fault}`), ...(isWritten ? [] : ["a write was lost"])];
  });
}
