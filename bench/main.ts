// `npm run bench`: this server beside servers that do nothing and one written by hand, in turn, in the same run.
//   --smoke      a short run that fails on errors, never on time
//   --rounds N   how often each is measured (default 5); the medians count
//   --only TEXT  only the scenarios whose name contains it

import { parseArgs } from "node:util";
import { benchBare } from "./bare.ts";
import { inFolder } from "./folder.ts";

const { values: flags } = parseArgs({
  options: { smoke: { type: "boolean", default: false }, rounds: { type: "string" }, only: { type: "string" } },
});
const { smoke, only = "" } = flags;
const rounds = smoke ? 1 : Number(flags.rounds ?? 5);
const seconds = smoke ? 1 : 3;

const errors = await inFolder((folder) => benchBare({ smoke, only }, { rounds, seconds, warmUp: !smoke, folder }));
if (errors > 0) {
  console.error(`${errors} requests failed`);
  process.exit(1);
}
