// `npm run bench`: this server beside servers that do nothing and one written by hand, in turn, in the same run.
//   --peers [NAME...]  beside what users could pick in its place (those whose name contains one of the texts), which it
//                      installs from the npm registry into a temporary folder: some minutes, some of it to compile
//   --profile          where the time of a look-up and of a create goes, by thread, area and function
//   --stalls           how long others wait while one client or operator does its worst on a site of --brands (default 100000)
//   --smoke            a short run that fails on errors, never on time
//   --rounds N         how often each is measured (default 5); the medians count
//   --only TEXT        only the scenarios whose name contains it
// Each way writes a page beside this file, unless it was cut short by --smoke, --only or names.

import { parseArgs } from "node:util";
import { benchBare } from "./bare.ts";
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
  if (flags.profile) return profile(setting, smoke);
  return flags.peers ? benchPeers({ smoke, only }, names, setting) : benchBare({ smoke, only }, setting);
});
if (errors > 0) {
  console.error(`${errors} requests failed`);
  process.exit(1);
}
