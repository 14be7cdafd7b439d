import { existsSync } from "node:fs";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { openSqlite } from "./sqlite/engine.ts";

/**
 * Opens the database at `url`: `sqlite:<file>`.
 * @throws Refusal `bad-request` for any other address, `unavailable` when it cannot be opened
 */
export function openEngine(url: string, resources: readonly Resource[]): Engine {
  const path = sqlitePath(url);
  if (path) return openSqlite(path, resources);
  throw new Refusal(
    "bad-request",
    `"${url.replace(/:[^:@/]*@/, ":...@")}" is no database address; write sqlite:<file>`,
  );
}

/** Whether there is a database at `url` already. Only a file can be told to be missing without asking it. */
export function isDatabaseThere(url: string): boolean {
  const path = sqlitePath(url);
  return path === undefined || existsSync(path);
}

function sqlitePath(url: string): string | undefined {
  return /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1];
}
