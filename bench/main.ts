// `npm run bench`: measures this server, servers that do nothing, and one written by hand, in turn.
//   --peers [NAME...]  beside alternatives (all, or those whose name contains one of the texts). Installs them from the
//                      npm registry into a temporary folder, which takes some minutes; some packages are compiled
//   --profile          the time of a look-up and of a create by thread, folder and function
//   --stalls           how long clients wait during expensive requests and commands on a site of --brands (default 100000), on both engines:
//                      about 9 minutes on a quiet machine
//   --feed             what waiting clients and webhooks cost others, and how soon a change arrives at them
//   --smoke            a short run that fails on errors, not on slow responses
//   --rounds N         measurements of each server (default 5); the report has the medians
//   --only TEXT        only the scenarios whose name contains it. Those of --stalls begin with the engine: --only "PostgreSQL: " measures all of
//                      it, --only ": documentation" one on both engines
// Each mode writes a report beside this file, unless --smoke, --only or names limit the run.

import { parseArgs } from "node:util";
import { benchBare } from "./bare.ts";
import { benchFeed } from "./feed/run.ts";
import { inFolder } from "./folder.ts";
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
  if (flags.profile) return profile(setting, smoke);
  return flags.peers ? benchPeers({ smoke, only }, names, setting) : benchBare({ smoke, only }, setting);
});
if (errors > 0) {
  console.error(`${errors} requests failed`);
  process.exit(1);
}
