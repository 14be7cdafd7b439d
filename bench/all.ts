// `npm run bench -- --all`: makes every report, one after the other, each in a process of its own. So a report that cannot be made does not prevent the
// others.

import { statSync } from "node:fs";
import { join } from "node:path";
import { toRow, toTable } from "./report.ts";

/** The modes of the benchmark, in the order in which `--all` runs them; each is a flag, and each writes `bench/<mode>.md`. */
export const modes = ["results", "profile", "stalls", "feed", "database", "memory", "scale", "peers"] as const;
export type Mode = (typeof modes)[number];

/** Maximum minutes of one report. The slowest takes less than a quarter of it. */
const maxMinutes = 60;

/**
 * Makes reports, and prints what each took and which could not be made.
 * @param names the modes to run; all if there are none
 * @param flags further flags for each of them
 * @param isSmoke whether they are short runs, which write no report
 * @returns the exit code: 0 if all were made and no request failed
 */
export async function benchAll(names: readonly string[], flags: readonly string[], isSmoke: boolean): Promise<number> {
  const unknown = names.filter((name) => !modes.some((mode) => mode === name));
  if (unknown.length > 0) throw new Error(`unknown modes: ${unknown.join(", ")}; there are ${modes.join(", ")}`);
  const chosen = modes.filter((mode) => names.length === 0 || names.includes(mode));
  const rows: string[] = [];
  let code = 0;
  for (const [index, mode] of chosen.entries()) {
    console.log(`\n${index + 1} of ${chosen.length}: ${mode}`);
    const started = Date.now();
    const exit = await runMode(mode, flags);
    if (exit.signal !== null) return 128;
    const isMade = isSmoke ? exit.code === 0 : changedAt(mode) >= started;
    if (exit.code !== 0) code = 1;
    const outcome = isMade ? (exit.code === 0 ? "made" : "made, but requests failed") : "NOT MADE";
    rows.push(toRow([`bench/${mode}.md`, outcome, `${((Date.now() - started) / 60_000).toFixed(1)} min`]));
  }
  console.log(`\n${toTable(["report", "", "took"], rows).join("\n")}`);
  return code;
}

/** Runs a mode to its end. If this process gets a signal, the mode gets it too; `signal` then has its name. */
async function runMode(mode: Mode, flags: readonly string[]) {
  let signal: NodeJS.Signals | null = null;
  const command = [process.execPath, join(import.meta.dir, "main.ts"), `--${mode}`, ...flags];
  const child = Bun.spawn(command, { stdio: ["ignore", "inherit", "inherit"], timeout: maxMinutes * 60_000 });
  const pass = (name: NodeJS.Signals) => {
    signal = name;
    child.kill(name);
  };
  const names = ["SIGHUP", "SIGINT", "SIGTERM"] as const;
  for (const name of names) process.on(name, pass);
  const code = await child.exited;
  for (const name of names) process.off(name, pass);
  return { code, signal: signal as NodeJS.Signals | null };
}

/** Returns when the report of a mode was last written, as milliseconds since 1970; 0 if it does not exist. */
function changedAt(mode: Mode): number {
  return statSync(join(import.meta.dir, `${mode}.md`), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
