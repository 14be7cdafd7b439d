// `npm run bench` compares this server with bare servers that do nothing, and with one written by hand. It measures one at a time, in several rounds.
// Other modes:
// `--peers [NAME...]`: compares it with alternatives, or just those whose names contain one of these texts. Installs them from the npm registry into a
//     temporary folder, which takes a few minutes, because some packages are compiled.
// `--stalls`: how long clients wait during expensive requests and commands, on both engines, with a site of `--brands` (default 100000).
// `--feed`: what waiting clients and webhooks cost other clients, and how soon a change reaches waiting clients.
// `--memory`: how much memory the server and its sockets use while many clients request a lot at once.
// `--start`: how soon a server responds after it was started, and how much memory it takes at rest, with one site and 1,000.
// `--console`: how long the console takes until it can be used on a phone with a slow network, with an empty cache.
// Flags:
// `--smoke`: a short run that fails on errors, but not on slow responses. All servers get load at once, so its figures mean nothing.
// `--rounds N`: how often each server is measured (default 3). The report has the medians.
// `--only TEXT`: only scenarios with this text in their name. With `--stalls`, names start with the engine: `--only "PostgreSQL: "` measures all stalls on
//     PostgreSQL, `--only ": documentation"` one stall on both engines.
// Results, peers and stalls are also written to a report in this folder, unless `--smoke`, `--only` or names limit the run.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { benchConsole } from "./console/run.ts";
import { benchFeed } from "./feed/run.ts";
import { benchMemory } from "./memory/run.ts";
import { benchPeers } from "./peers/run.ts";
import { endAll } from "./process.ts";
import { benchBare } from "./results/run.ts";
import { benchStalls } from "./stalls/run.ts";
import { benchStart } from "./start/run.ts";

const isSet = { type: "boolean", default: false } as const;
const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    stalls: isSet,
    feed: isSet,
    memory: isSet,
    start: isSet,
    peers: isSet,
    console: isSet,
    smoke: isSet,
    brands: { type: "string", default: "100000" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "" },
  },
});
const { smoke, only } = flags;
const rounds = smoke ? 1 : Number(flags.rounds);

/** @returns the number of failed requests */
function run(folder: string): Promise<number> {
  const setting = { rounds, seconds: smoke ? 1 : 3, smoke, folder };
  if (flags.stalls) return benchStalls({ brands: Number(flags.brands), only, smoke }, folder);
  if (flags.feed) return benchFeed({ rounds, only, smoke }, folder);
  if (flags.memory) return benchMemory({ only, smoke }, folder);
  if (flags.start) return benchStart({ rounds, smoke }, folder);
  if (flags.console) return benchConsole({ rounds });
  if (flags.peers) return benchPeers({ smoke, only }, names, setting);
  return benchBare({ smoke, only }, setting);
}

const errors = await inFolder(run);
if (errors > 0) {
  console.error(`${errors} requests failed`);
  process.exit(1);
}

/** Runs `work` with a temporary folder. Afterwards, or on SIGINT, SIGTERM or SIGHUP, ends all processes it started and removes the folder. */
async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-bench-"));
  const cleanUp = async () => {
    await endAll();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };
  for (const [name, number] of Object.entries(signals)) {
    process.once(name, () => void cleanUp().finally(() => process.exit(128 + number)));
  }
  try {
    return await work(folder);
  } finally {
    await cleanUp();
  }
}
