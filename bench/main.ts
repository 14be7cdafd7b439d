// `npm run bench`: measures this server, bare servers that do nothing, and a server written by hand, one after the other in several rounds.
// `--peers [NAME...]`: compares this server with alternatives instead: with all, or with alternatives that have one of the texts in their name.
//     Installs the alternatives from the npm registry into a temporary folder. That takes some minutes, because some packages are compiled.
// `--profile`: measures the time of a look-up and of a create, by thread, folder and function.
// `--stalls`: measures how long clients wait during expensive requests and commands. Uses a site of `--brands` (default 100000) on both engines.
//     Takes about 12 minutes on a quiet machine.
// `--feed`: measures the cost of waiting clients and webhooks for other clients, and how soon a change arrives at waiting clients.
// `--database`: measures the console's search in many sites, single creates, and reads while PostgreSQL hangs.
// `--memory`: measures the memory of the server and of its sockets while many clients request much at once.
// `--smoke`: makes a short run, which fails on errors, but not on slow responses.
// `--rounds N`: sets the number of measurements of each server (default 5). The report has the medians.
// `--only TEXT`: measures only scenarios with this text in their name. Names of `--stalls` begin with the engine: `--only "PostgreSQL: "` measures
//     all stalls on PostgreSQL, `--only ": documentation"` one stall on both engines.
// Each mode writes a report into the folder of this file, unless `--smoke`, `--only` or names limit the run.

import { parseArgs } from "node:util";
import { benchBare } from "./bare.ts";
import { benchDatabase } from "./database/run.ts";
import { benchFeed } from "./feed/run.ts";
import { inFolder } from "./folder.ts";
import { benchMemory } from "./memory/run.ts";
import { benchPeers } from "./peers/run.ts";
import { profile } from "./profile/run.ts";
import { benchStalls } from "./stalls/run.ts";

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    peers: { type: "boolean", default: false },
    profile: { type: "boolean", default: false },
    stalls: { type: "boolean", default: false },
    feed: { type: "boolean", default: false },
    database: { type: "boolean", default: false },
    memory: { type: "boolean", default: false },
    brands: { type: "string", default: "100000" },
    smoke: { type: "boolean", default: false },
    rounds: { type: "string" },
    only: { type: "string", default: "" },
  },
});
const { smoke, only } = flags;
const rounds = smoke ? 1 : Number(flags.rounds ?? 5);
const seconds = smoke ? 1 : 3;

const errors = await inFolder((folder) => {
  const setting = { rounds, seconds, warmUp: !smoke, folder };
  if (flags.stalls) return benchStalls({ brands: Number(flags.brands), only, smoke }, folder);
  if (flags.feed) return benchFeed({ rounds: Math.min(rounds, 3), only, smoke }, folder);
  if (flags.database) return benchDatabase({ rounds: smoke ? 2 : 20, only, smoke }, folder);
  if (flags.memory) return benchMemory({ only, smoke }, folder);
  if (flags.profile) return profile(setting, smoke);
  return flags.peers ? benchPeers({ smoke, only }, names, setting) : benchBare({ smoke, only }, setting);
});
if (errors > 0) {
  console.error(`${errors} requests failed`);
  process.exit(1);
}
