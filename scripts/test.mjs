// Runs the tests, and ends every process that they started, also after Ctrl-C or a kill of this process. The tests are a separate process group;
// a watchdog process kills the group when this process ends.
//
// Test files run in four processes, because tests spend half of their time waiting for other processes. Each file has its own globals.
//
// Plain JavaScript for Node, because it must run before Bun does.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const [mode, group] = process.argv.slice(2);

if (mode === "--watch") await watch(Number(group));
else run(process.argv.slice(2));

/** Runs the tests with `args`, and exits with their status. */
function run(args) {
  const bun = fileURLToPath(new URL("../bin/bun.js", import.meta.url));
  const runner = fileURLToPath(new URL("run-tests.ts", import.meta.url));
  const command = [bun, runner, "--parallel=4", "--timeout", "60000", ...args];
  const tests = spawn(process.execPath, command, { detached: true, stdio: ["ignore", "inherit", "inherit"] });
  const watchdog = spawn(process.execPath, [fileURLToPath(import.meta.url), "--watch", String(tests.pid)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watchdog.unref();
  tests.on("exit", (code) => process.exit(code ?? 1));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));
  endWithParent();
}

/** Exits if the parent is gone, such as npm's shell after a kill. */
function endWithParent() {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && process.exit(1), 500).unref();
}

/** Waits until standard input closes, which is when the parent ends, then kills the process group. */
async function watch(group) {
  for await (const _ of process.stdin);
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // All processes have ended.
  }
}
