// Runs a release's commands.

let running: Bun.Subprocess | undefined;
let isInterrupted = false;

/** Ends the running command. All later ones fail. */
export function interrupt(): void {
  isInterrupted = true;
  running?.kill();
}

/** Allows commands again, to clean up after an interruption. */
export function resume(): void {
  isInterrupted = false;
}

/**
 * Runs a command in `cwd`. Returns its standard output without the final line break.
 * @throws Error with the command's output if it fails
 */
export async function runIn(cwd: string, command: readonly string[]): Promise<string> {
  if (isInterrupted) throw new Error("interrupted");
  const child = Bun.spawn([...command], { cwd, env: outerEnvironment(), stdio: ["ignore", "pipe", "pipe"] });
  running = child;
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if (isInterrupted) throw new Error("interrupted");
  if ((await child.exited) === 0) return stdout.replace(/\n$/, "");
  const output = `${stdout}${stderr}`.trim().split("\n").slice(-30).join("\n");
  throw new Error(`\`${command.join(" ")}\` failed:\n${output}`);
}

/** Returns the environment without what `npm run` adds, because npm would use that in other folders too. */
function outerEnvironment(): Record<string, string | undefined> {
  const isOfRun = /^(npm_(lifecycle|package|command|execpath|node_execpath|config_local_prefix)|INIT_CWD$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfRun.test(name)));
}
