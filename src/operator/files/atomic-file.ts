// Writes files atomically.

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
  /** Transforms the content, for example compresses it. */
  readonly through?: Transform;
  /** The permissions of a new file, before the umask is applied. */
  readonly mode?: number;
}

/** Signals that end the process by default. SIGHUP is not among them: a handler would override `nohup`, which ignores it. */
const terminationSignals = ["SIGINT", "SIGTERM"] as const;

/** Age in milliseconds, since its last write, from which an abandoned temporary file is removed. It is longer than any pause of a running export. */
const staleAfterMs = 60 * 60_000;

/**
 * Writes a file atomically: writes a temporary file in the same folder, flushes it to disk and renames it. So after a failure or a signal, the
 * previous file is unchanged. `-` and `/dev/stdout` are standard output. A pipe or a device such as `/dev/null` is written directly.
 * @throws ProblemError `unavailable` if the file cannot be written, or the ProblemError that `content` throws
 */
export async function writeFile(
  file: string,
  content: AsyncIterable<string>,
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
    throw new ProblemError("unavailable", `cannot write ${name}: ${errorMessage(error)}`, { cause: error });
  }
}

/** Checks, before long work, that a file can be created in the folder of `file`. @throws ProblemError `not-found` or `unavailable` */
export function requireFolder(file: string): void {
  const folder = dirname(file);
  if (!existsSync(folder)) throw new ProblemError("not-found", `cannot write ${file}: there is no folder ${folder}`);
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new ProblemError("unavailable", `cannot write ${file}: ${errorMessage(error)}`, { cause: error });
  }
}

async function replace(target: string, write: (part: string) => Promise<void>): Promise<void> {
  removeStaleParts(dirname(target));
  const part = `${target}.storefront-${process.pid}.part`;
  const stop = removeAtSignal(part);
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

/**
 * Removes old temporary files of processes that were killed. A recent file can belong to a running process on another machine that shares the folder.
 */
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
 * Removes `part` when a signal ends this process, until the returned function is called. If the signal has another listener, it does not end the
 * process, and the file stays.
 */
function removeAtSignal(part: string): () => void {
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
