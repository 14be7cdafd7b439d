// Runs the tests, and kills every process that they started, also after Ctrl-C or a kill of this process. The tests run in a separate session;
// a watchdog process kills this session when this process exits.
//
// Test files run in five processes, also on two cores, because tests spend half of their time waiting for other processes. Each file has its own
// globals.
//
// This file is plain JavaScript for Node, because it runs before Bun.

import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const [mode, session] = process.argv.slice(2);

if (mode === "--watch") await watch(Number(session));
else run(process.argv.slice(2));

/** Runs the tests with `args`, and exits with their status. */
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

/** Exits when the parent has exited, for example when npm's shell was killed. */
function endWithParent() {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && process.exit(1), 500).unref();
}

/**
 * Waits until standard input closes, because the parent has exited, and kills the session. Killing one process group is not enough, because each
 * process of the runner has a separate group.
 */
async function watch(session) {
  for await (const _ of process.stdin);
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,sess="], { encoding: "utf8" });
  const processes = stdout.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const own = processes.flatMap(([pid, leader]) => (leader === session ? [pid] : []));
  // Kill the group too, because not every operating system shows sessions as numbers.
  for (const pid of [...own, -session]) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has already exited.
    }
  }
}
