// Long polls on server processes, started the way an operator does.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConfigSources } from "../../../src/config.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { type ServerProcess, startProcess } from "../../support/programs/processes.ts";
import { waitUntil } from "../../support/time.ts";

let folder: string;
let database: string;
let engine: Engine;
let site: number;
let key: string;
let server: ServerProcess | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "storefront-polls-"));
  database = `sqlite:${join(folder, "test.db")}`;
  engine = await openEngine(database, allResources);
  const record = await createSite(engine, "shop", { isDefault: true }, Date.now());
  site = record.ID;
  key = (await createKey(engine, record, {}, Date.now())).key;
});
afterEach(async () => {
  await server?.end();
  server = undefined;
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(settings: ConfigSources = {}): Promise<ServerProcess> {
  server = await startProcess({ DATABASE: database, ...settings });
  return server;
}

async function get({ url }: ServerProcess, query: string) {
  const response = await fetch(`${url}/restapi/changes.json?${query}`, { headers: { "X-API-AUTH": key } });
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member
  return { status: response.status, json: (await response.json()) as any };
}

/** Waits until each of `polls` is waiting or has ended. */
async function waiting({ adminUrl }: ServerProcess, polls: readonly Promise<unknown>[]): Promise<void> {
  let ended = 0;
  for (const poll of polls) void poll.then(() => ended++);
  const text = async () => (await fetch(`${adminUrl}/metrics`, { headers: { Connection: "close" } })).text();
  await waitUntil(
    async () => (await text()).includes(`\nstorefront_polls_waiting ${polls.length - ended}\n`),
    `${polls.length} that wait`,
    { output: () => `${ended} have ended` },
  );
}

test("a replaced worker ends its polls with an empty page, and clients continue with its successor", async () => {
  const running = await start({ WORKERS: "2", ADMIN: "127.0.0.1:0" });
  const since = (await get(running, "since=now")).json.Next;
  const polls = Array.from({ length: 20 }, () => get(running, `since=${since}&wait=55`));
  await waiting(running, polls);
  process.kill(running.pid, "SIGHUP");
  expect(await Promise.all(polls)).toEqual(
    polls.map(() => ({ status: 200, json: { Changes: [], Next: since, More: false } })),
  );
  const again = Array.from({ length: 20 }, () => get(running, `since=${since}&wait=55`));
  // The second worker still accepts connections for a moment after ending its polls. New polls on them end at once with an empty page.
  await waiting(running, again);
  await engine.commit([createIntent({ site })]);
  const pages = await Promise.all(again);
  expect(pages.map(({ status }) => status)).toEqual(again.map(() => 200));
  expect((await get(running, `since=${since}`)).json.Changes).toHaveLength(1);
});

test("a stopping server soon ends its polls with an empty page", async () => {
  const running = await start({ ADMIN: "127.0.0.1:0" });
  const since = (await get(running, "since=now")).json.Next;
  const polls = Array.from({ length: 200 }, () => get(running, `since=${since}&wait=55`));
  await waiting(running, polls);
  const started = performance.now();
  expect(await running.end()).toBe(0);
  expect(performance.now() - started).toBeLessThan(8000);
  const pages = await Promise.all(polls);
  expect(new Set(pages.map(({ status, json }) => `${status} ${json.Next}`))).toEqual(new Set([`200 ${since}`]));
});

test("a poll isn't logged as slow, and the access log has its full duration", async () => {
  expect(await logOfPoll({})).not.toContain("slow request");
  const lines = (await logOfPoll({ ACCESS_LOG: "yes" })).split("\n").filter((line) => line.includes("changes.json"));
  const polls = lines.map((line) => JSON.parse(line)).filter(({ ms }) => ms > 900);
  expect(polls).toHaveLength(1);
  expect([polls[0].msg, polls[0].status]).toEqual(["request", 200]);
});

/** Returns the server's log of one poll that waits a second. If a busy machine stalls long enough to log a slow request, tries another server. */
async function logOfPoll(settings: ConfigSources, attempts = 5): Promise<string> {
  const running = await start({ LOG: "info", SLOW_MS: "500", ...settings });
  const since = (await get(running, "since=now")).json.Next;
  await get(running, `since=${since}&wait=1`);
  expect(await running.end()).toBe(0);
  const log = running.log();
  return attempts > 1 && log.includes("slow request") ? logOfPoll(settings, attempts - 1) : log;
}
