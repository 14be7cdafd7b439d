// A command waits longer for a busy database than a server does.

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import postgres from "postgres";
import { openWorkshop, type Workshop } from "../support/command.ts";
import { type OpenedDatabases, openDatabases } from "../support/postgres-databases.ts";

setDefaultTimeout(60_000);

/** Milliseconds that the database is busy: more than a server waits and a command takes to start. */
const busyMs = 6000;

let workshop: Workshop;
let server: OpenedDatabases | undefined;
beforeEach(() => {
  workshop = openWorkshop();
});
afterEach(async () => {
  await workshop.close();
  await server?.remove();
  server = undefined;
});

test("a command waits for a transaction of another process, with SQLite", async () => {
  await workshop.must(["site", "add", "shop"]);
  using database = new Database(workshop.file("test.db"));
  database.run("begin immediate");
  const commands = [
    ["site", "add", "garden"],
    ["site", "remove", "shop", "--yes"],
  ].map((args) => workshop.run(args, { asProcess: true }));
  await Bun.sleep(busyMs);
  database.run("commit");
  expect((await Promise.all(commands)).map(({ code, stderr }) => [code, stderr.includes("cannot")])).toEqual([
    [0, false],
    [0, false],
  ]);
});

test("a command waits for a transaction of another process, with PostgreSQL", async () => {
  server = await openDatabases();
  const env = { STOREFRONT_DATABASE: await server.createDatabase() };
  await workshop.must(["site", "add", "shop"], { env });
  const sql = postgres(env.STOREFRONT_DATABASE, { max: 1, onnotice: () => {} });
  const { promise: over, resolve: finish } = Promise.withResolvers<void>();
  const transaction = sql.begin(async (inside) => {
    await inside`select * from sites for update`;
    await over;
  });
  const command = workshop.run(["site", "add", "garden"], { env, asProcess: true });
  await Bun.sleep(busyMs);
  finish();
  await transaction;
  await sql.end();
  expect(await command).toMatchObject({ code: 0 });
});
