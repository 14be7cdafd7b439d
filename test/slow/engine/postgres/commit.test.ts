// The result of a commit on PostgreSQL that the database delays, interrupts or rejects.

import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import postgres from "postgres";
import type { DumpedRow, Engine } from "../../../../src/model/engine.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { readAllRows } from "../../../../src/store/database/read-all-rows.ts";
import { openEngine } from "../../../../src/store/open.ts";
import { sql } from "../../../../src/store/postgres/statements.ts";
import { createIntent, deleteSiteRecord } from "../../../support/engine/intents.ts";
import { failureOf } from "../../../support/failure.ts";
import { startPostgres } from "../../../support/postgres/server.ts";
import { waitUntil } from "../../../support/time.ts";
import { webhookSecret, webhookState } from "../../../support/webhooks/states.ts";

// A database with `synchronous_commit` waits for a standby, which does not exist.
const server = await startPostgres({ settings: { synchronous_standby_names: "nobody", synchronous_commit: "local" } });
afterAll(() => server.remove());

let url: string;
let database: string;
const opened: Engine[] = [];
beforeEach(async () => {
  url = await server.createDatabase();
  database = /[^/]+$/.exec(url)?.[0] as string;
  const engine = await open(20_000);
  await engine.commit([createIntent({ values: { Name: "first" } }), createIntent({ site: 2 })]);
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((engine) => engine.close()));
  await end("pg_terminate_backend", "true");
});

/** @param timeout milliseconds that the database has for one call */
async function open(timeout: number, poolSize = 3): Promise<Engine> {
  const engine = await openEngine(`${url}?statement_timeout=${timeout}&pool_size=${poolSize}`, allResources);
  opened.push(engine);
  return engine;
}

/** Engines that are opened after this call wait for the standby at every commit. */
const waitForStandby = () => server.run(`alter database ${database} set synchronous_commit = on`);

const write = (engine: Engine, Name = "second") => engine.commit([createIntent({ values: { Name } })]);

const cuts = [
  { name: "cut short", how: "pg_cancel_backend" },
  { name: "ended together with its connection", how: "pg_terminate_backend" },
] as const;

const key = { site: 1, webhook: 1 };
const credential = { digest: "0".repeat(64), kind: "link", operator: 1, expiresAt: 1e15 } as const;

/** Every call of an engine that must be durable when it returns. */
const durable: { readonly [Name in keyof Engine]?: (engine: Engine) => unknown } = {
  commit: (engine) => write(engine),
  commitAtomically: (engine) => engine.commitAtomically([[createIntent()]], () => {}),
  probeWrite: (engine) => engine.probeWrite(),
  replaceEpochs: (engine) => engine.replaceEpochs(),
  importSiteRows: (engine) => engine.importSiteRows(9, stored([])),
  dropSite: (engine) => engine.dropSite(3),
  saveBackupTime: (engine) => engine.saveBackupTime(1),
  saveWebhook: (engine) => engine.saveWebhook(webhookState(key), [webhookSecret()]),
  acquireWebhookLease: (engine) => engine.acquireWebhookLease(key, "one", 1000),
  compareAndSetWebhook: (engine) =>
    engine.compareAndSetWebhook(key, { cursor: "0.0", rewinds: 0, resumes: 0 }, { nextAt: 1 }),
  rotateWebhookSecret: (engine) => engine.rotateWebhookSecret(key, "whsec_", 2, 3),
  addWebhookAttempt: (engine) => engine.addWebhookAttempt(key, { at: 1, status: 200, milliseconds: 1, fault: null }),
  deleteWebhook: (engine) => engine.deleteWebhook(key),
  saveCredential: (engine) => engine.saveCredential({ ...credential, digest: "1".repeat(64) }, 1),
  consumeCredential: (engine) => engine.consumeCredential(credential.digest),
  deleteCredentials: (engine) => engine.deleteCredentials(credential.operator),
  // The last one, because it is done even if it is interrupted here.
  replaceAllData: (engine) => engine.replaceAllData(stored([])),
};

/** Every call that changes data that may be lost. */
const lossy: typeof durable = {
  saveKeyUses: (engine) => engine.saveKeyUses(new Map([[1, 1]])),
  deleteExpiredResponses: async (engine) => {
    while (await engine.deleteExpiredResponses(10, 10));
  },
  pruneJournal: (engine) => engine.pruneJournal(1, 1, 10),
  replaceEpoch: async (engine) => engine.replaceEpoch?.(2, (await engine.readHeads([2]))[0]?.epoch as string),
};

const others = [
  ...[
    "readHeads",
    "readRecord",
    "readPage",
    "readRowsAfter",
    "readRows",
    "readMatchingRows",
    "readSite",
    "readChangesSince",
    "readJournalPage",
    "countChanges",
    "readLastKeyUses",
    "readRestrictions",
    "dump",
  ],
  ...[
    "readSitesToDrop",
    "findInconsistencies",
    "readWebhookStates",
    "readWebhookSecrets",
    "readLatestAttempts",
    "readWebhookAttempts",
    "readWebhookExchange",
    "readDatabaseId",
  ],
  ...[
    "findCredential",
    "readLastBackupTime",
    "readsOnThisThread",
    "isNew",
    "openConnections",
    "subscribeToCommits",
    "usage",
    "close",
  ],
];

test("each call of an engine is listed here, by whether it changes anything, and whether the change may be lost", () => {
  const all = [...Object.keys(durable), ...Object.keys(lossy), ...others];
  expect(Object.keys(opened[0] as Engine).sort()).toEqual(all.sort());
});

for (const { name, how } of cuts) {
  test(`a commit whose wait for its standby is ${name} is not reported as done, whatever commits`, async () => {
    await storeMore(opened[0] as Engine);
    await waitForStandby();
    const engine = await open(20_000, 10);
    for (const [call, commit] of Object.entries(durable))
      expect([call, await cutShort(how, () => commit(engine))]).toEqual([call, unknown]);
  });
}

test("tables whose commit is interrupted are not reported as created", async () => {
  url = await server.createDatabase();
  database = /[^/]+$/.exec(url)?.[0] as string;
  await waitForStandby();
  expect(await cutShort("pg_cancel_backend", () => open(20_000))).toEqual(unknown);
});

const unknown = { code: "unavailable", isUnknown: true };

/** Interrupts the wait of `commit`, and returns its result. */
async function cutShort(how: (typeof cuts)[number]["how"], commit: () => unknown) {
  let isDone = false;
  const ending = Promise.resolve(commit()).then(
    () => "done",
    ({ code, message }) => ({ code, isUnknown: message.includes("the write may have gone through anyway") }),
  );
  void ending.then(() => {
    isDone = true;
  });
  await waitUntil(async () => isDone || (await backEnds("wait_event = 'SyncRep'")) > 0, "a commit that waits");
  await end(how, "wait_event = 'SyncRep'");
  return ending;
}

/** Stores the data that the calls of `durable` change. */
async function storeMore(engine: Engine): Promise<void> {
  await engine.saveWebhook(webhookState(key), [webhookSecret()]);
  await engine.saveCredential(credential, 1);
  await deleteSiteRecord(engine, 3);
  await engine.commit([createIntent({ site: 3 })]);
}

async function* stored(rows: readonly DumpedRow[]): AsyncGenerator<DumpedRow> {
  yield* rows;
}

test("a commit that waits for its standby for long is seen by no reader", async () => {
  await waitForStandby();
  const [engine, patient] = [await open(1500), await open(2200)];
  const later = failureOf(patient.commit([createIntent({ site: 2 })]));
  expect((await failureOf(write(engine))).message).toMatch(/within 1500 ms; the write may have gone through anyway/);
  expect((await later).message).toMatch(/within 2200 ms; the write may have gone through anyway/);
  expect(await backEnds("wait_event = 'SyncRep'")).toBe(2);
  expect((await readAllRows(engine, 1)).rows).toHaveLength(1);
  await end("pg_terminate_backend", "wait_event = 'SyncRep'");
});

test("data that is stored already is not confirmed before the standby has it: a repeated request, and an update that changes nothing", async () => {
  await waitForStandby();
  const engine = await open(20_000, 10);
  const request = createIntent({ values: { Name: "second" }, idempotency: { keyId: 1, name: "key", digest: "d" } });
  // From now on, the primary shows data that its standby does not have.
  expect(await cutShort("pg_terminate_backend", () => engine.commit([request]))).toEqual(unknown);
  expect((await readAllRows(engine, 1)).rows).toHaveLength(2);
  const same = createIntent({ operation: "update", id: 2, values: { Name: "second" } });
  for (const again of [request, same])
    expect(await cutShort("pg_cancel_backend", () => engine.commit([again]))).toEqual(unknown);
});

test("data that may be lost waits for no standby: uses of keys, expiry of responses, pruning and counts", async () => {
  const keyed = createIntent({ idempotency: { keyId: 1, name: "old", digest: "d" } });
  await opened[0]?.commit([keyed]);
  await waitForStandby();
  const engine = await open(5000);
  for (const call of Object.values(lossy)) await call(engine);
  expect(await server.run("select name from idempotency", database)).toEqual([]);
  expect(await server.run("select floor from sites where id = 1", database)).toEqual([{ floor: "1" }]);
});

test("a write that exceeds the time limit of the database is not done afterwards", async () => {
  const engine = await open(1500);
  await beforeEachRecord("perform pg_sleep(6); return new;");
  expect((await failureOf(write(engine))).code).toBe("unavailable");
  await waitUntil(async () => (await backEnds("state = 'active'")) === 0, "the end of the write");
  expect((await readAllRows(engine, 1)).rows).toHaveLength(1);
});

for (const { code, message } of [
  { code: "53100", message: "the database's disk is full: no" },
  { code: "40P01", message: "the database can't be used: no" },
  // The errors of a database that shuts down, even if it has committed.
  { code: "57P01", message: "the database can't be used: no; the write may have gone through anyway" },
  { code: "57P02", message: "the database can't be used: no; the write may have gone through anyway" },
  { code: "08006", message: "the database can't be used: no; the write may have gone through anyway" },
]) {
  test(`a write that ends with ${code} says whether it may have been done, and the next one is done`, async () => {
    const engine = await open(20_000);
    await beforeEachRecord(`raise exception 'no' using errcode = '${code}';`);
    expect((await failureOf(write(engine))).message).toBe(message);
    await server.run("drop trigger hook on records", database);
    // Writes are rejected until the database has ended a connection on which a commit might still run.
    const next = await waitUntil(() => write(engine).catch(() => undefined), "the next write");
    expect(next).toMatchObject([{ kind: "done", id: 2 }]);
  });
}

test("a write to a site that is locked is ended by the database, before this program gives it up", async () => {
  const engine = await open(5000);
  const unlock = await inTransaction("select * from sites for update");
  const error = await failureOf(write(engine));
  expect((error.cause as { code: string }).code).toBe("55P03");
  expect(error.message).not.toContain("may have gone through");
  await unlock();
});

test("a write to a site that another process has just created sees the writes of that process", async () => {
  const engine = await open(20_000);
  const finish = await inTransaction(
    `insert into sites (id, epoch, revision, last_ids, floor, last_at, counts)
     values (7, 'epoch', 1, '{"brand":1}', 0, 1, '{"brand":{"count":1,"revision":1}}');
     insert into records (site_id, resource, id, revision, body) values (7, 'brand', 1, 1, '{"ID":1,"Name":"theirs"}');
     insert into journal (site_id, revision, at, actor, resource, id, operation, body)
     values (7, 1, 1, '', 'brand', 1, 'create', '{"ID":1,"Name":"theirs"}')`,
  );
  const writing = engine.commit([createIntent({ site: 7, operation: "update", id: 1, values: { Name: "ours" } })]);
  await waitUntil(async () => (await backEnds("wait_event_type = 'Lock'")) === 1, "a write that waits");
  await finish();
  expect(await writing).toMatchObject([{ kind: "done", body: '{"ID":1,"Name":"ours"}' }]);
  expect(await engine.findInconsistencies()).toEqual([]);
});

test("a write that conflicts with another transaction is tried five times in all", async () => {
  const engine = await open(20_000);
  const conflict = (upTo: number) =>
    beforeEachRecord(
      `if nextval('tries') <= ${upTo} then raise exception 'in the way' using errcode = '40001'; end if; return new;`,
    );
  const tries = async () => Number((await server.run("select last_value from tries", database))[0]?.last_value);
  await server.run("create sequence tries", database);
  await conflict(4);
  expect(await write(engine)).toMatchObject([{ kind: "done" }]);
  expect(await tries()).toBe(5);
  await server.run("drop trigger hook on records; alter sequence tries restart", database);
  await conflict(100);
  expect((await failureOf(write(engine))).message).toContain("in the way");
  expect(await tries()).toBe(5);
});

for (const [time, lock, silence] of [
  [300, 240, 10_000],
  [20_000, 16_000, 20_000],
] as const) {
  test(`of ${time} ms for a call, a lock has ${lock}, and a process that falls silent in a transaction ${silence}`, async () => {
    const connection = postgres(url, { max: 1, fetch_types: false, onnotice: () => {} });
    await connection.unsafe(sql.begin(time));
    const settings = await connection.unsafe("select name, setting from pg_settings where name like '%_timeout'");
    const of = (name: string) => Number(settings.find((setting) => setting.name === name)?.setting);
    expect(of("statement_timeout")).toBe(time);
    expect(of("lock_timeout")).toBe(lock);
    expect(of("idle_in_transaction_session_timeout")).toBe(silence);
    await connection.end();
  });
}

test("a batch of rejected intents leaves no transaction open", async () => {
  const engine = await open(20_000);
  const update = createIntent({ operation: "update", id: 99, values: { Name: "x" } });
  expect(await engine.commit([update])).toMatchObject([{ kind: "rejected" }]);
  expect(await backEnds("state like 'idle in transaction%'")).toBe(0);
});

/** Has the database run `text` (PL/pgSQL) before each record is written. */
async function beforeEachRecord(text: string): Promise<void> {
  await server.run(
    `create or replace function hook() returns trigger language plpgsql as 'begin ${text.replaceAll("'", "''")} end';
     create trigger hook before insert or update on records for each row execute function hook()`,
    database,
  );
}

/** Runs statements in a transaction that stays open. Returns a function that commits it. */
async function inTransaction(text: string): Promise<() => Promise<void>> {
  const connection = postgres(url, { max: 1, fetch_types: false, onnotice: () => {} });
  await connection.unsafe(`begin; ${text}`);
  return async () => {
    await connection.unsafe("commit");
    await connection.end();
  };
}

/** Returns the number of the program's connections to this database for which the condition is true. */
async function backEnds(condition: string): Promise<number> {
  return (await server.run(`select 1 from pg_stat_activity where ${ours(condition)}`)).length;
}

/** Interrupts the statements of these connections, or ends the connections. */
async function end(how: "pg_cancel_backend" | "pg_terminate_backend", condition: string): Promise<void> {
  await server.run(`select ${how}(pid) from pg_stat_activity where ${ours(condition)}`);
}

function ours(condition: string): string {
  return `application_name = 'storefront' and datname = '${database}' and ${condition}`;
}
