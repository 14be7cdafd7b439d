// `npm run check:crash` checks what power losses and failing system calls leave of the program's files (SQLite, backups, exported sites).
//
//   npm run check:crash -- [--seed 1] [--images 80] [--faults 10] [--minutes 5] [--story text] [--planted name|all|list]
//
// While servers and commands run, a recorder (scripts/checks/crash/recorder.c) logs every change to a file and every sync. From this log, we reconstruct the
// images that a power loss could have left, and open them. `--images` is the maximum per story, and `--faults` how many calls of each kind fail per scenario
// (`all`: every call in turn). `--minutes` ends the run early, and says so. `--story` selects stories and scenarios by part of their name. `--planted` runs the
// check on copies of the program with a fault, and fails if it isn't found. scripts/README.md describes the method.
//
// Needs Linux on x86-64 or ARM64 and a C compiler (cc). `npm test` has test/slow/simulation/power-loss.test.ts instead.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { commandStories } from "./command-stories.ts";
import { examineStory } from "./examine.ts";
import { failCalls } from "./faults.ts";
import { buildRecorder } from "./lab.ts";
import { loadStories } from "./load-stories.ts";
import { heapLimit, type PlantedFault, plantedFaults, plantFault } from "./planted.ts";
import type { Story } from "./story.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    images: { type: "string", default: "80" },
    faults: { type: "string", default: "10" },
    minutes: { type: "string", default: "5" },
    story: { type: "string", default: "" },
    planted: { type: "string" },
  },
});
const started = performance.now();
const until = started + Number(values.minutes) * 60_000;
/** Stories stop here, to leave time for failing calls. */
const storiesUntil = started + Number(values.minutes) * 36_000;
const seed = Number(values.seed);
const folder = mkdtempSync(join(tmpdir(), "storefront-recorder-"));

function storiesWith(text: string): Story[] {
  return [...loadStories, ...commandStories].map((make) => make()).filter(({ name }) => name.includes(text));
}

function secondsSince(start: number): string {
  return `${Math.round((performance.now() - start) / 1000)} s`;
}

/** Returns src/main.ts of a copy of the program that limits SQLite's memory. */
function limitHeap(): string {
  return plantFault(heapLimit, mkdtempSync(join(folder, "heap-")));
}

/** Checks all stories and scenarios. Returns whether nothing was wrong. */
async function checkAll(recorder: string): Promise<boolean> {
  const main = join(import.meta.dir, "../../../src/main.ts");
  let images = 0;
  let runs = 0;
  let isSound = true;
  let isShortened = false;
  const print = (line: string, faults: readonly string[]) => {
    console.log(line);
    for (const fault of faults) console.log(`  FAULT ${fault}`);
    if (faults.length > 0) isSound = false;
  };
  for (const story of storiesWith(values.story)) {
    const start = performance.now();
    const examined = await examineStory(story, {
      recorder,
      main,
      seed,
      images: Number(values.images),
      until: storiesUntil,
    });
    isShortened ||= performance.now() > storiesUntil;
    images += examined.images;
    print(
      `${story.name}: ${examined.images} images of ${examined.events} events, ${secondsSince(start)}`,
      examined.faults,
    );
  }
  const perKind = values.faults === "all" ? Number.POSITIVE_INFINITY : Number(values.faults);
  await failCalls(values.story, { recorder, main, heapMain: limitHeap(), seed, perKind, until }, (report) => {
    isShortened ||= report.isShortened;
    runs += report.runs;
    print(`failing calls, ${report.name}: ${report.runs} runs, ${secondsSince(started)} so far`, report.faults);
  });
  if (isShortened)
    console.log(`ran out of time after --minutes ${values.minutes}, so some stories or failing calls were skipped`);
  console.log(`${images} images and ${runs} runs with failing calls in ${secondsSince(started)}, seed ${seed}`);
  return isSound;
}

/** Checks a copy of the program with a fault. Returns whether it was found. */
async function checkPlanted(recorder: string, name: string, fault: PlantedFault): Promise<boolean> {
  const start = performance.now();
  const copy = mkdtempSync(join(folder, "planted-"));
  const main = plantFault(fault, copy);
  const stories = storiesWith(fault.story);
  const faults: string[] = [];
  for (const story of stories) {
    if (faults.length > 0) break;
    faults.push(...(await examineStory(story, { recorder, main, seed, images: Number(values.images), until })).faults);
  }
  const options = { recorder, main, heapMain: main, seed, perKind: Number(values.faults), until };
  if (faults.length === 0) await failCalls(fault.story, options, (report) => void faults.push(...report.faults));
  rmSync(copy, { recursive: true, force: true });
  console.log(`${name}: ${faults.length > 0 ? `found in ${secondsSince(start)}: ${faults[0]}` : "NOT FOUND"}`);
  return faults.length > 0;
}

async function main(): Promise<boolean> {
  if (values.planted === "list") {
    for (const name of Object.keys(plantedFaults)) console.log(name);
    return true;
  }
  const recorder = buildRecorder(folder);
  if (!recorder) {
    console.log("skipped: check:crash needs Linux and a C compiler (cc)");
    return true;
  }
  if (values.planted === undefined) return checkAll(recorder);
  const chosen = Object.entries(plantedFaults).filter(([name]) => values.planted === "all" || name === values.planted);
  if (chosen.length === 0) throw new Error(`unknown planted fault ${values.planted}; \`--planted list\` lists them`);
  let isFound = true;
  for (const [name, fault] of chosen) isFound = (await checkPlanted(recorder, name, fault)) && isFound;
  return isFound;
}

try {
  if (!(await main())) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
