import { createWriteStream, existsSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { messageOf, Refusal } from "../model/errors.ts";

/**
 * Writes a file all at once: beside its place, to the disk, and then into its place, so that a failure leaves what was
 * there before. What is no plain file, such as a pipe or `/dev/null`, is written to as it stands.
 * @throws Refusal `unavailable` when it cannot be written, or whatever `content` throws
 */
export async function writeFile(file: string, content: AsyncIterable<string>, ...through: Transform[]): Promise<void> {
  const target = existsSync(file) ? realpathSync(file) : file;
  try {
    if (existsSync(target) && !statSync(target).isFile()) await pour(content, through, target, "w");
    else await replace(target, (part) => pour(content, through, part, "wx"));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("unavailable", `cannot write ${file}: ${messageOf(error)}`, { cause: error });
  }
}

async function replace(target: string, write: (part: string) => Promise<void>): Promise<void> {
  const part = `${target}.${process.pid}.part`;
  try {
    await write(part);
    await flushToDisk(part);
    renameSync(part, target);
    await flushToDisk(dirname(target));
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

async function pour(content: AsyncIterable<string>, through: Transform[], path: string, flags: string): Promise<void> {
  await pipeline([Readable.from(content), ...through, createWriteStream(path, { flags })]);
}

async function flushToDisk(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
