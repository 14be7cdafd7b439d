// Mutation testing: draws small changes to the source (mutants), runs the tests on each, and prints those that no test noticed (survivors):
//
//   npm run check:mutants -- --seed 7 --count 100 [--area console] [--jobs 2] [--minutes 5] [--only src/store]
//
// `--seed 7,8` draws a sample for each seed; they share the first step. With `--minutes`, no more test files start once a mutant has taken this long, and it
// counts as a survivor, so the share of killed mutants can only come out too low.
//
// First, every test file runs once on a copy with markers, to find out which mutants it reaches, including in processes it starts. Then each mutant is applied
// to a copy, and the test files that reach it run until one fails twice. A test file that fails without a mutant is skipped with a message. 100 mutants take
// about an hour on two cores. Exits with 1 if a sample's share of killed mutants is below the area's minimum.

import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { once } from "../../../src/lib/concurrency.ts";
import { sharedPort } from "../../../test/support/postgres/databases.ts";
import { startPostgres } from "../../../test/support/postgres/server.ts";
import { Checkout } from "./checkout.ts";
import { drawMutants, type Mutant } from "./draw.ts";
import { findTestFiles, inOrder, type TestFile } from "./test-files.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** `share` is the minimum share of killed mutants. The console and its API are a separate area, because pages have fewer tests per line. */
const areas = {
  server: { holds: (file: string) => !/^src\/(console|admin)\//.test(file), share: 0.95 },
  console: { holds: (file: string) => /^src\/(console|admin)\//.test(file), share: 0.8 },
};

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "100" },
    area: { type: "string", default: "server" },
    jobs: { type: "string", default: "2" },
    minutes: { type: "string", default: "Infinity" },
    only: { type: "string", default: "src/" },
  },
});
const area = areas[values.area as keyof typeof areas];
if (!area) throw new Error(`unknown --area; use ${Object.keys(areas).join(" or ")}`);

interface Reached {
  readonly milliseconds: number;
  readonly mutants: ReadonlySet<number>;
}

const files = [...new Bun.Glob("src/**/*.{ts,tsx}").scanSync(root)]
  .filter((file) => area.holds(file) && file.startsWith(values.only) && !file.endsWith(".d.ts"))
  .sort();
const samples = new Map<string, readonly Mutant[]>();
for (const seed of values.seed.split(",")) samples.set(seed, await drawSample(Number(seed)));
const mutants = [...samples.values()].flat();
const tests = findTestFiles(root).filter(({ distances }) => mutants.some(({ file }) => distances.has(file)));
const checkouts: Checkout[] = [];
const postgres = once(() => startPostgres({ settings: { max_connections: "500" } }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => void cleanUp().then(() => process.exit(1)));
const environment = { [sharedPort]: String((await postgres()).port) };
for (let job = 0; job < Number(values.jobs); job++) checkouts.push(new Checkout(root));
const survivors: Mutant[] = [];
let tried = 0;
try {
  const reached = await findReached();
  await eachWith(mutants, async (mutant, checkout, number) => {
    checkout.apply(mutant);
    const killer = await killerOf(mutant, number, checkout, reached);
    checkout.restore();
    if (!killer) survivors.push(mutant);
    tried++;
    console.log(`${tried}/${mutants.length} ${killer ? `killed by ${killer}` : "SURVIVED"}: ${shown(mutant)}`);
  });
} finally {
  await cleanUp();
}
for (const [seed, sample] of samples) report(seed, sample);

/** Ends everything that's running and removes what was created. */
async function cleanUp(): Promise<void> {
  for (const checkout of checkouts) checkout.remove();
  await (await postgres()).remove();
  // A run may have created a folder in a copy in the meantime.
  for (const checkout of checkouts) checkout.remove();
}

function report(seed: string, sample: readonly Mutant[]): void {
  const left = sample.filter((mutant) => survivors.includes(mutant));
  const killed = sample.length - left.length;
  console.log(`\nseed ${seed}: ${killed} of ${sample.length} killed. Survivors:`);
  for (const mutant of left) console.log(`  ${shown(mutant)}`);
  if (killed < sample.length * (area?.share ?? 1)) process.exitCode = 1;
}

async function drawSample(seed: number): Promise<Mutant[]> {
  const drawn = ["tsconfig.json", "src/console/tsconfig.json"].map((project) => drawFrom(project, seed));
  return (await Promise.all(drawn)).flat();
}

/** Draws one TypeScript project's mutants. The console is a separate project, so the count is split by number of files. */
function drawFrom(project: string, seed: number): Promise<Mutant[]> {
  const isConsole = project !== "tsconfig.json";
  const own = files.filter((file) => file.startsWith("src/console/") === isConsole);
  const count = Math.round((Number(values.count) * own.length) / files.length);
  return drawMutants({ root, project, files: own, seed, count });
}

/** Runs every test file on a copy with markers. Returns which mutants each one reaches. */
async function findReached(): Promise<Map<TestFile, Reached>> {
  const reached = new Map<TestFile, Reached>();
  // The page and the client run in browsers, where markers can't report anything.
  const onServer = mutants.map((mutant) =>
    /^src\/(console|client)\//.test(mutant.file) ? { ...mutant, marker: undefined } : mutant,
  );
  for (const checkout of checkouts) checkout.mark(onServer);
  await eachWith(
    [...tests].sort((a, b) => b.milliseconds - a.milliseconds),
    async (test, checkout) => {
      const folder = join(checkout.folder, "reached", test.file);
      mkdirSync(folder, { recursive: true });
      const run = await checkout.run(test.file, 600_000, environment, folder);
      if (!run.hasPassed) return console.log(`skipping ${test.file}, which fails even without a mutant`);
      const marks = readdirSync(folder).map(Number);
      const unmarked = onServer.flatMap(({ file, marker }, number) =>
        !marker && test.distances.has(file) ? [number] : [],
      );
      reached.set(test, { milliseconds: run.milliseconds, mutants: new Set([...marks, ...unmarked]) });
    },
  );
  for (const checkout of checkouts) checkout.restore();
  return reached;
}

/** Returns the first test file that fails twice with the mutant; undefined if it survives or runs out of time. */
async function killerOf(mutant: Mutant, number: number, checkout: Checkout, reached: Map<TestFile, Reached>) {
  const able = tests.filter((test) => reached.get(test)?.mutants.has(number));
  const end = performance.now() + Number(values.minutes) * 60_000;
  for (const test of inOrder(able, mutant.file)) {
    if (performance.now() > end) break;
    const limitMs = 4 * (reached.get(test)?.milliseconds ?? 0) + 60_000;
    const fails = async () => !(await checkout.run(test.file, limitMs, environment)).hasPassed;
    if ((await fails()) && (await fails())) return test.file;
  }
  return undefined;
}

/** Calls `work` for each value. Each call in flight has its own checkout. */
async function eachWith<T>(
  values: readonly T[],
  work: (value: T, checkout: Checkout, number: number) => Promise<void>,
) {
  const entries = values.entries();
  await Promise.all(
    checkouts.map(async (checkout) => {
      for (const [number, value] of entries) await work(value, checkout, number);
    }),
  );
}

function shown({ file, line, was, becomes }: Mutant): string {
  const short = (text: string) => (text.length > 60 ? `${text.slice(0, 57)}...` : text).replace(/\s+/g, " ");
  return `${file}:${line} \`${short(was)}\` -> \`${short(becomes)}\``;
}
