// Makes data folders for PostgreSQL servers. They're initialised once per machine, and each server gets a copy, which takes less than half the time.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { once } from "../../../src/lib/concurrency.ts";
import { newPart, putInPlace } from "../made-once.ts";
import { postgresPrograms, reachableTmpdir } from "./programs.ts";

export const user = "storefront";
export const password = "only for these tests";

const options = [
  ...["--username", user, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C"],
  ...["--no-sync", "--no-instructions"],
];

/** Makes a server's data in the existing folder `folder`, and returns its path. */
export function newData(folder: string): string {
  return copyData(initialised(), folder);
}

/** Makes a standby's data in `folder`. The npm package has no pg_basebackup, but a stopped server's data can simply be copied. */
export function standbyData(primary: string, folder: string): string {
  const data = copyData(primary, folder);
  writeFileSync(join(data, "standby.signal"), "");
  return data;
}

/** Where servers have their folders. In memory, if Linux has enough, servers take a fifth of the time. */
export function homeOfData(isDurable: boolean): string {
  const memory = "/dev/shm";
  if (isDurable || !existsSync(memory)) return temporary();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 4e9 ? memory : temporary();
}

const temporary = once(() => reachableTmpdir(postgresPrograms().runAs));

function copyData(from: string, folder: string): string {
  const data = join(folder, "data");
  cpSync(from, data, { recursive: true });
  own(folder);
  return data;
}

/** Gives a folder and its files to the user that runs PostgreSQL. */
function own(folder: string): void {
  const { uid, gid } = postgresPrograms().runAs;
  if (uid !== undefined) spawnSync("chown", ["-R", `${uid}:${gid}`, folder]);
}

/** Unused data, kept for later runs, for each PostgreSQL version and set of options. */
function initialised(): string {
  const { version, runAs } = postgresPrograms();
  const kind = [version, runAs.uid ?? process.getuid?.(), options, password];
  const name = createHash("sha256").update(JSON.stringify(kind)).digest("hex").slice(0, 12);
  const whole = join(temporary(), `storefront-postgres-data-${name}`);
  if (existsSync(whole)) return whole;
  const part = newPart(whole);
  own(part);
  putInPlace(part, whole, initialise(part));
  return whole;
}

function initialise(folder: string): string {
  const { initdb, runAs } = postgresPrograms();
  const data = join(folder, "data");
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, password);
  chmodSync(passwordFile, 0o644);
  const made = spawnSync(initdb, ["-D", data, "--pwfile", passwordFile, ...options], {
    ...runAs,
    cwd: folder,
    encoding: "utf8",
  });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  return data;
}
