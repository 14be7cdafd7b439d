// Sets up a site of sample brands with an operator's commands, and starts this server.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runtimeSettings } from "../bin/runtime-settings.js";
import { type Measured, startServer, tracked } from "./process.ts";
import { sampleCsv } from "./scenarios.ts";

export interface Site {
  /** The database's address. */
  readonly database: string;
  readonly key: string;
  /** A key with single rights that only works from 16 networks, the last of which is this machine's. */
  readonly limitedKey: string;
}

const root = join(import.meta.dir, "..");

const networks = [...Array.from({ length: 15 }, (_, index) => `203.0.113.${index}`), "127.0.0.0/8"];

/** Creates a database in `folder` with a site of `count` brands and two keys. @param csvOf returns the brands as CSV */
export async function makeSite(folder: string, count: number, csvOf = sampleCsv): Promise<Site> {
  const database = `sqlite:${join(folder, `site-${count}.db`)}`;
  const csv = join(folder, `${count}.csv`);
  writeFileSync(csv, csvOf(count));
  await runStorefront(database, ["site", "add", "shop", "--default"]);
  await runStorefront(database, ["import", "--site", "shop", "brands", csv]);
  const newKey = ["key", "create", "--site", "shop"];
  const key = await runStorefront(database, newKey);
  const limits = ["--can", "brands:read,changes:read", "--from", networks.join()];
  const limitedKey = await runStorefront(database, [...newKey, ...limits]);
  return { database, key: key.trim(), limitedKey: limitedKey.trim() };
}

/** Starts the server on the database. @param program default: the command that users run */
export function startStorefront(
  { database }: Pick<Site, "database">,
  program: readonly string[] = ["node", join(root, "bin/storefront.js")],
): Promise<Measured> {
  const env = { ...runtimeSettings, STOREFRONT_DATABASE: database, STOREFRONT_LOG: "warn" };
  return startServer("storefront", [...program, "serve", "--port", "0"], env);
}

/** Runs a command, and returns its output. @throws Error with its message if it fails */
export async function runStorefront(database: string, args: readonly string[]): Promise<string> {
  const cmd = ["node", join(root, "bin/storefront.js"), ...args, "--database", database];
  const child = tracked(Bun.spawn(cmd, { stdio: ["ignore", "pipe", "pipe"] }));
  const [out, problem] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`storefront ${args.join(" ")}: ${problem}`);
  return out;
}
