// Operators' commands on PostgreSQL end whatever happens to the database, and never report a partial result as complete.

import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import type { Intent } from "../../../src/model/change.ts";
import type { DumpedRow, Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { startPostgres } from "../../support/postgres/server.ts";
import { openWorkspace, type Workspace } from "../../support/programs/command.ts";
import { waitUntil } from "../../support/time.ts";

const server = await startPostgres();
afterAll(() => server.remove());

let workspace: Workspace;
let url: string;
let engine: Engine;
beforeEach(async () => {
  workspace = openWorkspace();
  url = await server.createDatabase();
  engine = await openEngine(url, allResources);
});
afterEach(async () => {
  await engine.close();
  await workspace.close();
});

const onDatabase = () => ({ env: { STOREFRONT_DATABASE: url }, asProcess: true }) as const;

test("a slowly read dump is complete", async () => {
  await engine.commit([create("a"), create("b")]);
  const rows: DumpedRow[] = [];
  for await (const row of engine.dump()) {
    rows.push(row);
    const active = "application_name = 'storefront' and state = 'active'";
    const statements = () => server.run(`select 1 from pg_stat_activity where ${active}`);
    await waitUntil(async () => (await statements()).length === 0, "the end of the statement");
  }
  expect(rows.map(({ table }) => table)).toEqual(["sites", "records", "records", "journal", "journal"]);
});

test("a dump whose connection is lost fails, and is never just cut short", async () => {
  const uses = Array.from({ length: 1500 }, (_, key) => [key + 1, key] as const);
  await engine.saveKeyUses(new Map(uses));
  const dump = async () => {
    let rows = 0;
    for await (const _ of engine.dump()) {
      if (++rows !== 500) continue;
      await server.disconnect();
    }
  };
  expect(await dump().catch(({ code }) => code)).toBe("unavailable");
});

test("backup, and restore over existing data, succeed even a second time", async () => {
  await workspace.mustRun(["site", "add", "shop", "--default"], onDatabase());
  // Enough rows that the file is written more slowly than the database sends them.
  for (let n = 0; n < 10; n++)
    await engine.commit(Array.from({ length: 500 }, (_, i) => create(`${n * 500 + i}`.repeat(40))));
  for (let i = 0; i < 2; i++) {
    await workspace.mustRun(["backup", `${i}.backup`], onDatabase());
    await workspace.mustRun(["restore", `${i}.backup`], onDatabase());
  }
  expect(await workspace.mustRun(["site", "list"], onDatabase())).toContain("shop");
});

test("a command that fails midway ends", async () => {
  await engine.commit([create("a")]);
  await server.run("drop table key_uses", databaseOf(url));
  const { code, stderr } = await workspace.run(["backup", "a.backup"], onDatabase());
  expect(code).toBe(1);
  expect(stderr).toContain("key_uses");
});

test("a command ends even if one of the address's hosts is frozen", async () => {
  await workspace.mustRun(["site", "add", "shop", "--default"], onDatabase());
  const frozen = await startPostgres();
  try {
    await frozen.signal("SIGSTOP");
    const name = databaseOf(url);
    const hosts = `127.0.0.1:${frozen.port},127.0.0.1:${server.port}`;
    const timed = async (address: string) => {
      const started = performance.now();
      expect(
        await workspace.mustRun(["site", "list"], { env: { STOREFRONT_DATABASE: address }, asProcess: true }),
      ).toContain("shop");
      return performance.now() - started;
    };
    // A host has ten seconds to accept a connection.
    expect(await timed(server.url(name, hosts))).toBeLessThan((await timed(url)) + 7000);
  } finally {
    await frozen.signal("SIGCONT");
    await frozen.remove();
  }
});

function databaseOf(address: string): string {
  return /[^/]+$/.exec(address)?.[0] as string;
}

function create(name: string): Intent {
  return createIntent({ values: { Name: name } });
}
