// Writes files atomically: whatever happens, there's either the old file or the whole new one.

import {
  accessSync,
  constants,
  createWriteStream,
  existsSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Readable, type Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { flushToDisk } from "../../lib/flush.ts";
import { isProcessRunning } from "../../lib/operating-system.ts";
import { ProblemError } from "../../model/errors.ts";
import { isStandardOutput, standardOutput } from "./standard-streams.ts";

interface OutputOptions {
  /** For example, to compress the content. */
  readonly through?: Transform;
  /** A new file's permissions, before the umask. */
  readonly mode?: number;
}

/** Signals that end the process by default, except SIGHUP: handling it would defeat `nohup`. */
const terminationSignals = ["SIGINT", "SIGTERM"] as const;

/** How long after its last write an abandoned temporary file is removed. Longer than a running export ever pauses. */
const staleAfterMs = 60 * 60_000;

/**
 * Writes to a temporary file in the same folder, flushes it to disk and renames it, so that after a failure or a signal the old file is still there.
 * Writes directly to standard output (`-` or `/dev/stdout`), pipes and devices such as `/dev/null`.
 * @throws ProblemError `unavailable` if the file can't be written, or whatever ProblemError `content` throws
 */
export async function writeFile(
  file: string,
  content: AsyncIterable<string | Uint8Array>,
  { through, mode = 0o666 }: OutputOptions = {},
): Promise<void> {
  const writeTo = (to: Writable) => pipeline([Readable.from(content), ...(through ? [through] : []), to]);
  try {
    if (isStandardOutput(file)) await writeTo(standardOutput());
    else if (existsSync(file) && !statSync(file).isFile()) await writeTo(createWriteStream(file));
    else
      await replace(existsSync(file) ? realpathSync(file) : file, (part) =>
        writeTo(createWriteStream(part, { flags: "wx", mode })),
      );
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    const name = isStandardOutput(file) ? "standard output" : file;
    throw new ProblemError("unavailable", `can't write ${name}: ${errorMessage(error)}`, { cause: error });
  }
}

/** Call this before long work, to find out early if `file` can't be created. @throws ProblemError `not-found` or `unavailable` */
export function requireFolder(file: string): void {
  const folder = dirname(file);
  if (!existsSync(folder)) throw new ProblemError("not-found", `can't write ${file}: there's no folder ${folder}`);
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new ProblemError("unavailable", `can't write ${file}: ${errorMessage(error)}`, { cause: error });
  }
}

async function replace(target: string, write: (part: string) => Promise<void>): Promise<void> {
  removeStaleParts(dirname(target));
  const part = `${target}.storefront-${process.pid}.part`;
  const stop = removeOnSignal(part);
  try {
    await write(part);
    await flushToDisk(part);
    renameSync(part, target);
    await flushToDisk(dirname(target));
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  } finally {
    stop();
  }
}

/** Cleans up after killed processes. A recent file may belong to a process on another machine that shares the folder. */
function removeStaleParts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = /\.storefront-([0-9]+)\.part$/.exec(name)?.[1];
    if (pid === undefined || isProcessRunning(Number(pid))) continue;
    const part = join(folder, name);
    const found = statSync(part, { throwIfNoEntry: false });
    if (found?.isFile() && Date.now() - found.mtimeMs > staleAfterMs) rmSync(part, { force: true });
  }
}

/**
 * Removes `part` if a signal ends this process, until the returned function is called. A signal that has another listener doesn't end the process, so
 * the file stays.
 */
function removeOnSignal(part: string): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    if (process.listenerCount(signal) > 1) return;
    rmSync(part, { force: true });
    stop();
    process.kill(process.pid, signal);
  };
  const stop = () => {
    for (const signal of terminationSignals) process.off(signal, onSignal);
  };
  for (const signal of terminationSignals) process.on(signal, onSignal);
  return stop;
}
