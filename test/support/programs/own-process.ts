// Runs commands in the test's own process. Starting one takes 0.2 s of CPU time, more than most commands.

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../../../src/commands/program.ts";
import { loadCFunctions } from "../../../src/lib/operating-system.ts";

const libc = loadCFunctions({
  dup: { args: ["int"], returns: "int" },
  dup2: { args: ["int", "int"], returns: "int" },
});

/** Longest standard input. With more, a command that fails early may read ahead from the next one's input. */
const maxStdin = 64 * 1024;

/** Whether a command with this input can run here. Standard input and output can only be replaced on Linux. */
export function canRunHere(stdin: string | Uint8Array): boolean {
  return libc !== undefined && stdin.length <= maxStdin;
}

interface Surroundings {
  /** The current folder. */
  readonly folder: string;
  /** All environment variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: string | Uint8Array;
  /** File or device to append standard output or standard error to. */
  readonly to?: { readonly stdout?: string; readonly stderr?: string } | undefined;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command once earlier ones are done. While it runs, this process has the command's standard input and output, current folder and environment.
 */
export function runHere(args: readonly string[], surroundings: Surroundings) {
  const ended = last.then(() => runNow(args, surroundings));
  last = ended.catch(() => {});
  return ended;
}

async function runNow(args: readonly string[], { folder, env, stdin, to }: Surroundings) {
  const files = mkdtempSync(join(tmpdir(), "storefront-stdio-"));
  const [input, output, errors] = ["0", "1", "2"].map((name) => join(files, name)) as [string, string, string];
  writeFileSync(input, stdin);
  for (const file of [output, errors]) writeFileSync(file, "");
  const restore = [
    enter(folder),
    replaceEnvironment(env),
    redirect(0, openSync(input, "r")),
    redirect(1, openSync(to?.stdout ?? output, "a")),
    redirect(2, openSync(to?.stderr ?? errors, "a")),
  ];
  try {
    const code = await beforeTimeout(runCommand(args), args);
    return { code, stdout: readFileSync(output, "utf8"), stderr: readFileSync(errors, "utf8") };
  } finally {
    process.exitCode = 0;
    for (const undo of restore) undo();
    rmSync(files, { recursive: true, force: true });
  }
}

/** Throws if the command is still running after a minute, so that the following tests can run. */
function beforeTimeout(code: Promise<number>, args: readonly string[]): Promise<number> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`\`${args.join(" ")}\` has not ended`)), 60_000);
  return Promise.race([code, promise]).finally(() => clearTimeout(timer));
}

function enter(folder: string): () => void {
  const before = process.cwd();
  process.chdir(folder);
  return () => process.chdir(before);
}

function replaceEnvironment(env: Surroundings["env"]): () => void {
  const before = { ...process.env };
  const assign = (wanted: Surroundings["env"]) => {
    for (const name of Object.keys(process.env)) if (wanted[name] === undefined) delete process.env[name];
    Object.assign(process.env, wanted);
  };
  assign(env);
  return () => assign(before);
}

/** Makes `descriptor` refer to the open file `file` until the returned function is called. */
function redirect(descriptor: number, file: number): () => void {
  const before = libc?.dup(descriptor) as number;
  libc?.dup2(file, descriptor);
  closeSync(file);
  return () => {
    libc?.dup2(before, descriptor);
    closeSync(before);
  };
}
