// Replaces this Node process with Bun, or runs Bun as a child process if Node can't do that.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findBun, notInstalled } from "./find-bun.js";

/** How often we check whether npm's shell is still running. */
const intervalMs = 250;

/** Runs `bun ...args`, and exits with its status. Adds `settings` to its environment unless they're already set. */
export function runBun(args, settings = {}) {
  let bun;
  try {
    bun = findBun();
  } catch (error) {
    console.error(error.code === "MODULE_NOT_FOUND" ? notInstalled : error.message);
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

/** Node 22.15 and newer can do this, with a warning that it's experimental, which we silence. */
function replace(bun, args, env) {
  process.removeAllListeners("warning");
  process.on("warning", () => {});
  process.execve(bun, [bun, ...args], env);
}

/** Ends Bun when our parent exits, because npm only stops the shell between itself and us. */
function endWithParent(child) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    child.kill("SIGTERM");
  }, intervalMs);
}
