// Replaces this Node process by Bun. If Node cannot do that, runs Bun as a child process.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findBun } from "./find-bun.js";

/** Milliseconds between two checks whether npm's shell still runs. */
const intervalMs = 250;

/** Runs `bun ...args`, and ends this process with the exit status of Bun. Adds `settings` to its environment, unless they are set. */
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

/** Replaces this process. Node 22.15 and newer can do that, with a warning that it is experimental, which is not printed. */
function replace(bun, args, env) {
  process.removeAllListeners("warning");
  process.on("warning", () => {});
  process.execve(bun, [bun, ...args], env);
}

/** Ends Bun when the parent process has exited: if npm is stopped, it ends only the shell between npm and this process. */
function endWithParent(child) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    child.kill("SIGTERM");
  }, intervalMs);
}
