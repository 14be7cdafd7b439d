// Writes that wait for the database while an operator changes their key or site.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { nextImmediate } from "../../../src/lib/yielding.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey, revokeKey, setKey } from "../../../src/operator/sites/keys.ts";
import { setSite } from "../../../src/operator/sites/sites.ts";
import { engines } from "../../support/engine/engines.ts";
import { openSqliteFile } from "../../support/engine/sqlite-file.ts";
import { startTestServer, type TestServer } from "../../support/http/server.ts";
import { waitUntil } from "../../support/time.ts";

const suspend = ({ engine, site }: TestServer) => setSite(engine, site.Name, { isSuspended: true }, Date.now());

const changes: readonly [
  what: string,
  change: (server: TestServer) => Promise<unknown>,
  status: number,
  isForSandbox?: boolean,
][] = [
  ["its key is revoked", ({ engine, key }) => revokeKey(engine, key.slice(0, 12), Date.now()), 401],
  ["its site is suspended", suspend, 403],
  ["the live site of its sandbox is suspended", suspend, 403, true],
  [
    "its key gets another label",
    ({ engine, key }) => setKey(engine, key.slice(0, 12), { label: "x" }, Date.now()),
    201,
  ],
];

describe.each(engines)("on $name", (kind) => {
  beforeAll(() => kind.open());
  afterAll(() => kind.close());

  test.each(
    changes,
  )("a write is authorized again if %s while it waits", async (_, change, status, isForSandbox = false) => {
    const server = await startTestServer({ settings: { DATABASE: await kind.newDatabase() } });
    const { engine } = server;
    const site = isForSandbox ? (await makeSandbox(engine, server.site.Name, { now: Date.now })).site : server.site;
    const { key } = isForSandbox ? await createKey(engine, site, {}, Date.now()) : server;
    const create = (name: string) =>
      server.call("POST", "/restapi/brands.json", { key, body: { Name: name }, headers: { "Idempotency-Key": name } });
    expect((await create("before")).status).toBe(201);
    const release = await blockWrites(server.database, site.ID);
    const shows = (metric: string) =>
      waitUntil(async () => (await server.metrics()).includes(`storefront_write_${metric}\n`), metric);
    const first = create("first");
    await shows("batch_size_count 2");
    const late = [create("late"), create("before")];
    await shows("queue_length 2");
    const changed = change(server);
    // On SQLite, the engine passes the change to the writer thread at once, so it runs after the first write but before the queued ones.
    await (kind.name === "SQLite" ? nextImmediate() : changed);
    await release();
    await changed;
    expect((await Promise.all(late)).map((response) => response.status)).toEqual([status, status]);
    const stored = (await server.engine.readChangesSince(site.ID, 0)) ?? [];
    const names = stored.map(({ body }) => JSON.parse(body).Name);
    const isFirstStored = (await first).status === 201;
    // A write that's authorized again may come after others.
    expect(names.sort()).toEqual(["before", ...(isFirstStored ? ["first"] : []), ...(status === 201 ? ["late"] : [])]);
    expect(await server.engine.findInconsistencies()).toEqual([]);
    await server.stop();
  });
});

/** Makes writes wait the way another process's long transaction does, on PostgreSQL only those to `site`. Returns a function that lets them go on. */
async function blockWrites(url: string, site: number): Promise<() => Promise<void>> {
  if (url.startsWith("sqlite:")) {
    const database = openSqliteFile(url);
    database.run("begin immediate");
    return async () => database.close();
  }
  const connection = postgres(url.replace(/\?.*/, ""), { max: 1, fetch_types: false, onnotice: () => {} });
  await connection.unsafe(`begin; select 1 from sites where id = ${site} for update`);
  return () => connection.end();
}
