// A read that begins after the response to a write includes it: on any process, in any format, list or look-up.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { createKey, revokeKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import type { SiteRecord } from "../../../src/system/system-records.ts";
import { isLinearizable, type Operation } from "../../support/engine/linearizable.ts";
import { call } from "../../support/http/server.ts";
import { openDatabases } from "../../support/postgres/databases.ts";
import { type ServerProcess, startProcess } from "../../support/programs/processes.ts";

/** Writes of each client, which each are read three times. */
const rounds = Number(process.env.ROUNDS ?? 8);

const folder = mkdtempSync(join(tmpdir(), "storefront-linear-"));
const server = await openDatabases();
afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

const databases = {
  SQLite: async () => `sqlite:${join(folder, "shop.db")}`,
  // The default would be two seconds, for which a busy machine may stop.
  PostgreSQL: async () => `${await server.createDatabase()}?statement_timeout=20000`,
};

for (const [name, newDatabase] of Object.entries(databases)) {
  describe(`three processes on one ${name} database`, () => {
    let processes: ServerProcess[];
    let engine: Engine;
    let site: SiteRecord;
    let key: string;

    beforeAll(async () => {
      const DATABASE = await newDatabase();
      engine = await openEngine(DATABASE, allResources);
      site = await createSite(engine, "shop", { isDefault: true }, Date.now());
      key = (await createKey(engine, site, {}, Date.now())).key;
      processes = await Promise.all([1, 2, 3].map(() => startProcess({ DATABASE })));
    });
    afterAll(async () => {
      await Promise.all(processes.map((one) => one.end()));
      await engine.close();
    });

    const any = () => (processes[Math.floor(Math.random() * processes.length)] as ServerProcess).url;
    const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      call(`${any()}/restapi/${path}`, method, { key, headers, ...(body === undefined ? {} : { body }) });

    test("a write through one is in the next read through another", async () => {
      let stale = 0;
      let reads = 0;
      /** Writes to a new record, and reads each write through another process. */
      const client = async (number: number) => {
        const made = await send("POST", "brands.json", { Name: `c${number}` });
        const id = made.json.ID as number;
        for (let round = 0; round < rounds; round++) {
          const wanted = `c${number}-${round}-`;
          expect((await send("PUT", "brands.json", { ID: id, Name: wanted })).status).toBe(200);
          for (const path of [`brands/${id}.json`, round % 2 ? "brands.json" : "brands.xml", `brands/${id}.xml`]) {
            reads++;
            if (!(await send("GET", path)).text.includes(wanted)) stale++;
          }
        }
        expect((await send("DELETE", `brands/${id}.json`)).status).toBe(200);
        expect((await send("GET", `brands/${id}.xml`)).status).toBe(404);
      };
      await Promise.all([1, 2, 3, 4, 5, 6].map(client));
      expect(reads).toBe(6 * rounds * 3);
      expect(stale).toBe(0);
    });

    test("a revoked key is rejected by every process on the next request", async () => {
      for (let i = 0; i < rounds; i++) {
        const issued = await createKey(engine, site, {}, Date.now());
        const statuses = () =>
          Promise.all(
            processes.map(
              async ({ url }) => (await call(`${url}/restapi/locations.json`, "GET", { key: issued.key })).status,
            ),
          );
        expect(await statuses()).toEqual([200, 200, 200]);
        await revokeKey(engine, issued.record.Prefix, Date.now());
        expect(await statuses()).toEqual([401, 401, 401]);
      }
    });

    test("a history of concurrent reads, updates and updates with If-Match of one record is linearizable", async () => {
      const made = await send("POST", "orderstatuses.json", { Name: "v0" });
      const path = `orderstatuses/${made.json.ID}.json`;
      const history: Operation[] = [];
      let values = 0;
      const client = async () => {
        let known = { value: "v0", etag: made.headers.get("ETag") as string };
        for (let i = 0; i < 60; i++) {
          const called = performance.now();
          const choice = Math.random();
          if (choice < 0.4) {
            const { json, headers } = await send("GET", path);
            known = { value: json.Name, etag: headers.get("ETag") as string };
            const seen = known.value;
            history.push({
              called,
              returned: performance.now(),
              apply: (state) => (state === seen ? state : undefined),
            });
            continue;
          }
          const value = `v${++values}`;
          const expected = choice < 0.8 ? known : undefined;
          const response = await send("PUT", path, { Name: value }, expected ? { "If-Match": expected.etag } : {});
          const returned = performance.now();
          if (response.status === 412) {
            history.push({ called, returned, apply: (state) => (state === expected?.value ? undefined : state) });
          } else {
            expect(response.status).toBe(200);
            known = { value, etag: response.headers.get("ETag") as string };
            const apply = (state: string) => (expected && state !== expected.value ? undefined : value);
            history.push({ called, returned, apply });
          }
        }
      };
      await Promise.all([1, 2, 3, 4, 5, 6].map(client));
      expect(history).toHaveLength(360);
      expect(isLinearizable(history, "v0")).toBe(true);
    });
  });
}

test("the checker finds a stale read", () => {
  const write = (value: string, called: number, returned: number) => ({ called, returned, apply: () => value });
  const read = (value: string, called: number, returned: number) => ({
    called,
    returned,
    apply: (state: string) => (state === value ? state : undefined),
  });
  expect(isLinearizable([write("a", 1, 2), write("b", 3, 6), read("a", 4, 5), read("b", 7, 8)], "")).toBe(true);
  expect(isLinearizable([write("a", 1, 2), write("b", 3, 4), read("a", 5, 6)], "")).toBe(false);
  expect(isLinearizable([write("a", 1, 9), read("a", 2, 3), read("", 4, 5)], "")).toBe(false);
});
