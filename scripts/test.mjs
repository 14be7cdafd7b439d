// Runs the tests, and ends every process that they started with them: also after Ctrl-C or a kill of this process, when
// nobody is left to clean up. The tests are a process group of their own; a watchdog kills the group when this process ends.
//
// Test files run in two processes, each file with globals of its own: half of the time is waiting for other processes.
//
// Plain JavaScript for Node, because it must work before anything else does.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const [mode, group] = process.argv.slice(2);

if (mode === "--watch") await watch(Number(group));
else run(process.argv.slice(2));

/** Runs the tests with `args` and exits as they do. */
function run(args) {
  const bun = fileURLToPath(new URL("../bin/bun.js", import.meta.url));
  const command = [bun, "test", "--parallel=2", "--timeout", "30000", ...args];
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

/** npm's shell may be killed and leave this process behind: then it ends too. */
function endWithParent() {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && process.exit(1), 500).unref();
}

/** Waits until the process at the other end of standard input is gone, then kills the process group. */
async function watch(group) {
  for await (const _ of process.stdin);
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}
