// A database on a disk that can fill up.

import { spawnSync } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresPrograms } from "../postgres/programs.ts";
import type { TestPostgres } from "../postgres/server.ts";

export interface FullDisk {
  readonly url: string;
  /** Limits the free space. */
  fill(): Promise<void>;
  /** Removes the limit. */
  grow(): Promise<void>;
  remove(): Promise<void>;
}

/**
 * A database whose tables are on a small tmpfs. Only root may mount one, so for other users, a trigger raises the error that PostgreSQL raises when its disk is
 * full.
 */
export async function makeFullDisk(database: TestPostgres): Promise<FullDisk> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-disk-"));
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=12m", "tmpfs", folder]).status === 0;
  return isMounted ? onTmpfs(database, folder) : withTrigger(database, folder);
}

async function onTmpfs(database: TestPostgres, folder: string): Promise<FullDisk> {
  const { runAs } = postgresPrograms();
  const space = join(folder, "space");
  mkdirSync(space);
  if (runAs.uid !== undefined) for (const path of [folder, space]) chownSync(path, runAs.uid, runAs.gid as number);
  await database.run(`create tablespace small location '${space}'`);
  await database.run("create database small tablespace small");
  return {
    url: database.url("small"),
    fill: async () => {},
    grow: async () => void spawnSync("mount", ["-o", "remount,size=64m", folder]),
    async remove() {
      await database.run("drop database small with (force)");
      await database.run("drop tablespace small");
      spawnSync("umount", [folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function withTrigger(database: TestPostgres, folder: string): Promise<FullDisk> {
  rmSync(folder, { recursive: true, force: true });
  await database.run("create database small");
  const run = (text: string) => database.run(text, "small");
  return {
    url: database.url("small"),
    async fill() {
      await run(`create function disk_full() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
      await run(
        "create trigger disk_full before insert on journal for each row when (new.id > 50) execute function disk_full()",
      );
    },
    grow: async () => void (await run("drop trigger disk_full on journal")),
    remove: async () => void (await database.run("drop database small with (force)")),
  };
}
