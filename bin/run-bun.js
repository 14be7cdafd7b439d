// Runs Bun in place of this Node process, or under it where Node cannot be replaced.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findBun } from "./find-bun.js";

/** How often to look whether npm is still there, in milliseconds. */
const interval = 250;

/** Runs `bun ...args` and ends this process as Bun ended. `settings` are variables for its environment that are not set there already. */
export function runBun(args, settings = {}) {
  let bun;
  try {
    bun = findBun();
  } catch (error) {
    console.error(error.code === "MODULE_NOT_FOUND" ? "Bun is not installed: run `npm ci` first" : error.message);
    process.exit(1);
  }
  const env = { ...settings, ...process.env };
  const isUnderNpm = process.env.npm_lifecycle_event !== undefined;
  if (process.execve && process.platform !== "win32" && !isUnderNpm) replace(bun, args, env);
  const child = spawn(bun, args, { stdio: "inherit", env });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"])
    process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
  if (isUnderNpm) endWithParent(child);
}

/** Node 22.15 and newer can become another program; it warns that this is experimental. */
function replace(bun, args, env) {
  process.removeAllListeners("warning");
  process.on("warning", () => {});
  process.execve(bun, [bun, ...args], env);
}

/** npm ends the shell between it and us when it is told to end, and leaves us behind: then we end too. */
function endWithParent(child) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    child.kill("SIGTERM");
  }, interval);
}
