// Files that commands write: all at once, or not at all.

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
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable, type Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";
import { isStandardOutput, standardOutput } from "./standard-streams.ts";

interface OutputOptions {
  /** What the content goes through on its way, such as compression. */
  readonly through?: Transform;
  /** The permissions of a new file, less those that the system takes away (umask). */
  readonly mode?: number;
}

/** Signals that end a process which does not look after them. Not SIGHUP: `nohup` has it ignored, and to look after it would undo that. */
const terminationSignals = ["SIGINT", "SIGTERM"] as const;

/** How long a part must have been left alone to be removed, in milliseconds: longer than any database may take for a page. */
const staleAge = 60 * 60_000;

/**
 * Writes a file all at once: beside its place, to the disk, and then into its place, so that a failure or a signal leaves what
 * was there before. `-` and `/dev/stdout` are standard output. What is no plain file, such as a pipe or `/dev/null`, is
 * written to as it stands.
 * @throws Refusal `unavailable` when it cannot be written, or whatever `content` throws
 */
export async function writeFile(
  file: string,
  content: AsyncIterable<string>,
  { through, mode = 0o666 }: OutputOptions = {},
): Promise<void> {
  const pour = (to: Writable) => pipeline([Readable.from(content), ...(through ? [through] : []), to]);
  try {
    if (isStandardOutput(file)) await pour(standardOutput());
    else if (existsSync(file) && !statSync(file).isFile()) await pour(createWriteStream(file));
    else
      await replace(existsSync(file) ? realpathSync(file) : file, (part) =>
        pour(createWriteStream(part, { flags: "wx", mode })),
      );
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const name = isStandardOutput(file) ? "standard output" : file;
    throw new Refusal("unavailable", `cannot write ${name}: ${messageOf(error)}`, { cause: error });
  }
}

/** @throws Refusal `unavailable` when no file can be made beside `file`: to say so before a long work, not after it */
export function requireFolder(file: string): void {
  try {
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    throw new Refusal("unavailable", `cannot write ${file}: ${messageOf(error)}`, { cause: error });
  }
}

async function replace(target: string, write: (part: string) => Promise<void>): Promise<void> {
  removeOldParts(dirname(target));
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

/** Removes what processes left that were killed: theirs alone, which no process has written to for long. */
function removeOldParts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = /\.storefront-([0-9]+)\.part$/.exec(name)?.[1];
    if (pid === undefined || isRunning(Number(pid))) continue;
    const part = join(folder, name);
    const found = statSync(part, { throwIfNoEntry: false });
    if (found?.isFile() && Date.now() - found.mtimeMs > staleAge) rmSync(part, { force: true });
  }
}

/** Whether there is a process of this number. A machine that shares the folder may have another answer. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Removes `part` when a signal ends this process, until the function that comes back is called. */
function removeAtSignal(part: string): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
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

async function flushToDisk(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
