// Plans that PostgreSQL caches for prepared statements. One made while a table has few rows stays when there are many.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { startPostgres } from "../../support/postgres/server.ts";
import { waitUntil } from "../../support/time.ts";
import { webhookState } from "../../support/webhooks/states.ts";

const settings = {
  autovacuum: "off",
  plan_cache_mode: "force_generic_plan",
  session_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  log_line_prefix: "%a@%d:",
};
const server = await startPostgres({ settings });
afterAll(() => server.remove());

const manySites = Array.from({ length: 1000 }, (_, at) => at + 1);
const known: [string, number[] | undefined][] = [
  ["no rows", []],
  ["no rows, and never analyzed", undefined],
  ["a few rows of one site", Array(60).fill(1)],
  ["a row of each of many sites", manySites],
  ["many rows of one site", Array(2000).fill(1)],
];

describe.each(known)("while %s are known,", (_, sites) => {
  let plans: Map<string, string>;
  beforeAll(async () => {
    const url = await server.createDatabase();
    const name = /[^/]+$/.exec(url)?.[0] as string;
    await (await openEngine(url, allResources)).close();
    await fillAndAnalyze(url, name, sites);
    plans = await plansOf(name, () => useByKeys(url));
  });

  test.each([
    ["the rows of a write", /^select found.*from records/s],
    ["the responses of a write", /^select found.*from idempotency/s],
    ["the states of webhooks", /^select found.*from webhook_state/s],
    ["a record", /^select sites.*and id = \$3/s],
    ["a page", /^select sites.*limit \$3/s],
  ])("%s: looked up by keys", (_, statement) => {
    const [plan = ""] = [...plans].filter(([text]) => statement.test(text)).map(([, plan]) => plan);
    const scans = plan.match(/\w+ Scan .*/g)?.filter((scan) => !/^Function |^Subquery /.test(scan)) ?? [];
    expect(scans.length).toBeGreaterThan(0);
    for (const scan of scans) expect(scan).toMatch(/^Index Scan using \w+_pkey on /);
    expect(plan.match(/Index Cond/g)?.length).toBe(scans.length);
    expect(plan).not.toMatch(/(Hash|Merge) (Left )?Join/);
  });
});

/** Stores one record for each of `sites`, and analyzes; undefined to do nothing. */
async function fillAndAnalyze(url: string, name: string, sites: readonly number[] | undefined): Promise<void> {
  if (!sites) return;
  const engine = await openEngine(url, allResources);
  const intents = sites.map((site, at) =>
    createIntent({ site, at, idempotency: { keyId: 1, name: `${at}`, digest: "" } }),
  );
  for (let from = 0; from < intents.length; from += 500) await engine.commit(intents.slice(from, from + 500));
  for (const site of new Set(sites)) if (site <= 3) await engine.saveWebhook(webhookState({ site }), []);
  await engine.close();
  // Vacuum stores the number of rows of an empty table.
  await server.run("vacuum analyze", name);
}

/** Sends each prepared statement that looks up by keys. */
async function useByKeys(url: string): Promise<void> {
  const engine = await openEngine(url, allResources);
  await engine.commit([createIntent()]);
  await write(engine);
  await engine.readRecord(1, "brand", 1);
  await engine.readPage(1, "brand", { limit: 10, offset: 0 });
  await engine.readRowsAfter(1, "brand", { after: 0, limit: 10 });
  await engine.readRows(1, [{ resource: "brand", id: 1 }]);
  const update = createIntent({ id: 1, operation: "update", values: { Name: "together" } });
  await engine.commitAtomically([[update]], () => {}, { run: { id: "k3J9aZ0q", size: 1 } });
  await engine.readWebhookStates([{ site: 1, webhook: 1 }]);
  await engine.close();
}

function write(engine: Engine): Promise<unknown> {
  const idempotency = { keyId: 1, name: "same", digest: "" };
  return engine.commit([createIntent({ id: 1, operation: "update", idempotency })]);
}

/** The plans of the prepared statements that `use` sends to a database, by their texts. */
async function plansOf(database: string, use: () => Promise<void>): Promise<Map<string, string>> {
  const from = server.log().length;
  await use();
  const mark = crypto.randomUUID();
  await server.run(`select '${mark}'`);
  await waitUntil(() => server.log().includes(mark), "the log");
  const entries = server
    .log()
    .slice(from)
    .split(/\n(?!\t)/);
  const ours = entries.filter((entry) => entry.startsWith(`storefront@${database}:LOG:`) && entry.includes("$1"));
  return new Map(
    ours.flatMap((entry) => {
      const [, text, plan] = /Query Text: ([\s\S]*?)\n\t([A-Z][\s\S]*)/.exec(entry) ?? [];
      return text && plan ? [[text, plan] as const] : [];
    }),
  );
}
