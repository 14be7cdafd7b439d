// Runs Bun in place of this Node process, or under it where Node cannot be replaced.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findBun } from "./find-bun.js";

/** Runs `bun ...args` and ends this process as Bun ended. */
export function runBun(args) {
  let bun;
  try {
    bun = findBun();
  } catch (error) {
    console.error(error.code === "MODULE_NOT_FOUND" ? "Bun is not installed: run `npm ci` first" : error.message);
    process.exit(1);
  }
  if (process.execve && process.platform !== "win32") {
    process.removeAllListeners("warning");
    process.on("warning", () => {});
    process.execve(bun, [bun, ...args], process.env);
  }
  const child = spawn(bun, args, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}
