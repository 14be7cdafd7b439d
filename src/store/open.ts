import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { openSqlite } from "./sqlite/engine.ts";

/**
 * Opens the database at `url`: `sqlite:<file>`.
 * @throws Refusal `bad-request` for any other address, `unavailable` when it cannot be opened
 */
export function openEngine(url: string, resources: readonly Resource[]): Engine {
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1];
  if (path) return openSqlite(path, resources);
  throw new Refusal(
    "bad-request",
    `"${url.replace(/:[^:@/]*@/, ":...@")}" is no database address; write sqlite:<file>`,
  );
}
