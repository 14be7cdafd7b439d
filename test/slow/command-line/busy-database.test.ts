// A command waits longer for a busy database than a server does.

import { afterEach, beforeEach, expect, test } from "bun:test";
import postgres from "postgres";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { openSqliteFile } from "../../support/engine/sqlite-file.ts";
import { type OpenedDatabases, openDatabases } from "../../support/postgres/databases.ts";
import { openWorkspace, type Workspace } from "../../support/programs/command.ts";
import { waitUntil } from "../../support/time.ts";

/**
 * Opens a database as a server does, before it gets busy. The function waits until a server has given up on two writes in a row, by which time a command
 * has started and is still waiting.
 */
async function openServer(url: string): Promise<() => Promise<void>> {
  const engine = await openEngine(url, allResources);
  return async () => {
    for (let write = 0; write < 2; write++) await expect(createSite(engine, "patio", {}, 0)).rejects.toThrow();
    await engine.close();
  };
}

let workspace: Workspace;
let server: OpenedDatabases | undefined;
beforeEach(() => {
  workspace = openWorkspace();
});
afterEach(async () => {
  await workspace.close();
  await server?.remove();
  server = undefined;
});

test("on SQLite, a command waits for another process's transaction", async () => {
  await workspace.mustRun(["site", "add", "shop"]);
  const waitForServer = await openServer(workspace.database);
  using database = openSqliteFile(workspace.database);
  database.run("begin immediate");
  const commands = [
    ["site", "add", "garden"],
    ["site", "remove", "shop", "--yes"],
  ].map((args) => workspace.run(args, { asProcess: true }));
  await waitForServer();
  database.run("commit");
  expect((await Promise.all(commands)).map(({ code, stderr }) => [code, stderr.includes("cannot")])).toEqual([
    [0, false],
    [0, false],
  ]);
});

test("on PostgreSQL, a command waits for another process's transaction", async () => {
  server = await openDatabases();
  const env = { STOREFRONT_DATABASE: await server.createDatabase() };
  await workspace.mustRun(["site", "add", "shop"], { env });
  const waitForServer = await openServer(env.STOREFRONT_DATABASE);
  const sql = postgres(env.STOREFRONT_DATABASE, { max: 2, onnotice: () => {} });
  const [locked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = sql.begin(async (inside) => {
    await inside`select * from sites for update`;
    locked.resolve();
    await over.promise;
  });
  await locked.promise;
  const command = workspace.run(["site", "add", "garden"], { env, asProcess: true });
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await waitUntil(async () => (await sql.unsafe(waiting)).length > 0, "the command");
  await waitForServer();
  over.resolve();
  await transaction;
  await sql.end();
  expect(await command).toMatchObject({ code: 0 });
});
