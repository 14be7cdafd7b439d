// The database of a simulation, which can return to an earlier state.

import { Database } from "bun:sqlite";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../src/model/engine.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { simulatedClock } from "./time.ts";

/** The tables of a site of which a failover may lose the last commits. */
const tables = { sites: "id", records: "site_id", journal: "site_id", webhook_state: "site_id" } as const;

export interface SimulatedDatabase {
  readonly engine: Engine;
  /** Keeps the rows of a site. The returned function restores them, so that later commits are lost. */
  remember(site: number): () => Promise<void>;
}

/** A folder in memory, if there is one: a simulation kills no real process, and the disk would take most of the time. */
const parent = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** Runs `work` on a new database whose leases end by the simulated clock. */
export async function withSimulatedDatabase<T>(work: (database: SimulatedDatabase) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(parent, "storefront-simulation-"));
  const file = join(folder, "test.db");
  try {
    const engine = await openEngine(`sqlite:${file}`, allResources, { clock: simulatedClock.now });
    const database = new Database(file);
    try {
      return await work({ engine, remember: (site) => rememberSite(database, site) });
    } finally {
      database.close();
      await engine.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function rememberSite(database: Database, site: number): () => Promise<void> {
  const kept = Object.entries(tables).map(([table, column]) => {
    const rows = database.query(`select * from ${table} where ${column} = ?`).values(site);
    return { table, column, rows };
  });
  const goBack = database.transaction(() => {
    for (const { table, column, rows } of kept) {
      database.query(`delete from ${table} where ${column} = ?`).run(site);
      for (const row of rows) {
        const places = row.map(() => "?").join(", ");
        database.query(`insert into ${table} values (${places})`).run(...(row as string[]));
      }
    }
  });
  return () => whenFree(() => goBack.immediate());
}

/** Does `work` when the writer thread has ended its transaction, because a planted fault may have begun a transaction without waiting for it. */
async function whenFree(work: () => void): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return work();
    } catch (error) {
      if ((error as { code?: string }).code !== "SQLITE_BUSY" || attempt === 10_000) throw error;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
