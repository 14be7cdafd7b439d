// `npm run bench`: measures this server, bare servers that do nothing, and a server written by hand, one after the other in several rounds.
// The same as `--results`. The other modes:
// `--peers [NAME...]`: compares this server with alternatives: with all, or with alternatives that have one of the texts in their name.
//     Installs the alternatives from the npm registry into a temporary folder. That takes some minutes, because some packages are compiled.
// `--profile`: measures the time of a look-up and of a create, by thread, folder and function.
// `--stalls`: measures how long clients wait during expensive requests and commands. Uses a site of `--brands` (default 100000) on both engines.
// `--feed`: measures the cost of waiting clients and webhooks for other clients, and how soon a change arrives at waiting clients.
// `--database`: measures the console's search in many sites, single creates, and reads while PostgreSQL hangs.
// `--memory`: measures the memory of the server and of its sockets while many clients request much at once.
// `--scale`: measures how costs grow with the number of sites and of records.
// `--all [MODE...]`: runs all modes one after the other, or those that are named, and prints which report could not be made.
// Further flags:
// `--smoke`: makes a short run, which fails on errors, but not on slow responses. It sends load to all servers at once, so its figures mean nothing.
// `--rounds N`: sets the number of measurements of each server (default 3). The report has the medians.
// `--only TEXT`: measures only scenarios with this text in their name. Names of `--stalls` begin with the engine: `--only "PostgreSQL: "` measures
//     all stalls on PostgreSQL, `--only ": documentation"` one stall on both engines.
// Each mode writes a report into the folder of this file, unless `--smoke`, `--only` or names limit the run. README.md has their durations.

import { parseArgs } from "node:util";
import { benchAll, type Mode, modes } from "./all.ts";
import { benchDatabase } from "./database/run.ts";
import { benchFeed } from "./feed/run.ts";
import { inFolder } from "./folder.ts";
import { benchMemory } from "./memory/run.ts";
import { benchPeers } from "./peers/run.ts";
import { profile } from "./profile/run.ts";
import { benchBare } from "./results/run.ts";
import { benchScale } from "./scale/run.ts";
import { benchStalls } from "./stalls/run.ts";

const isSet = { type: "boolean", default: false } as const;
const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    ...(Object.fromEntries(modes.map((mode) => [mode, isSet])) as Record<Mode, typeof isSet>),
    all: isSet,
    smoke: isSet,
    brands: { type: "string", default: "100000" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "" },
  },
});
const { smoke, only } = flags;
const rounds = smoke ? 1 : Number(flags.rounds);

/** Runs each mode with a temporary folder. Each returns the number of failed requests. */
const runs: Record<Mode, (folder: string) => Promise<number>> = {
  results: (folder) => benchBare({ smoke, only }, settingOf(folder)),
  profile: (folder) => profile(settingOf(folder), smoke),
  stalls: (folder) => benchStalls({ brands: Number(flags.brands), only, smoke }, folder),
  feed: (folder) => benchFeed({ rounds, only, smoke }, folder),
  database: (folder) => benchDatabase({ rounds: smoke ? 2 : 20, only, smoke }, folder),
  memory: (folder) => benchMemory({ only, smoke }, folder),
  scale: (folder) => benchScale({ only, smoke }, folder),
  peers: (folder) => benchPeers({ smoke, only }, names, settingOf(folder)),
};

function settingOf(folder: string) {
  return { rounds, seconds: smoke ? 1 : 3, smoke, folder };
}

if (flags.all) {
  const common = ["--rounds", flags.rounds, "--brands", flags.brands, ...(smoke ? ["--smoke"] : [])];
  process.exit(await benchAll(names, common, smoke));
}
const errors = await inFolder(runs[modes.find((mode) => flags[mode]) ?? "results"]);
if (errors > 0) {
  console.error(`${errors} requests failed`);
  process.exit(1);
}
