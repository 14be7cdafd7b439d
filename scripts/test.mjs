// Runs the tests, and kills every process they started, even after Ctrl-C or if this process is killed. The tests run in a separate session, which a watchdog
// process kills when this process exits.
//
// Test files run in five processes, even on two cores, because tests spend half of their time waiting for other processes. Each file has its own globals.
//
// This file is plain JavaScript for Node, because it runs before Bun.

import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const [mode, session] = process.argv.slice(2);

if (mode === "--watch") await watch(Number(session));
else run(process.argv.slice(2));

/** Exits with the tests' status. */
function run(args) {
  const bun = fileURLToPath(new URL("../bin/bun.js", import.meta.url));
  const runner = fileURLToPath(new URL("run-tests.ts", import.meta.url));
  const command = [bun, runner, "--parallel=5", "--timeout", "120000", ...args];
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

/** Exits along with the parent, for example if npm's shell is killed. */
function endWithParent() {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && process.exit(1), 500).unref();
}

/**
 * Waits until standard input closes, which means that the parent has exited, and kills the session. Killing one process group isn't enough, because each of
 * the runner's processes has its own.
 */
async function watch(session) {
  for await (const _ of process.stdin);
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,sess="], { encoding: "utf8" });
  const processes = stdout.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const own = processes.flatMap(([pid, leader]) => (leader === session ? [pid] : []));
  // Kill the group too, because not every operating system shows session numbers.
  for (const pid of [...own, -session]) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has already exited.
    }
  }
}
