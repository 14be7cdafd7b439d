import type { Database } from "bun:sqlite";
import type { Change } from "../../model/change.ts";
import type { DumpedRow, Engine, Head, Row } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { checkRows } from "../check.ts";
import { following } from "../since.ts";
import { watchCommits } from "./commit-watch.ts";
import { migrate, openDatabase, translated } from "./database.ts";
import { dumpRows, refillTables } from "./dump.ts";
import { createFileWatch, type KnownFile, knownFiles } from "./files.ts";
import { decodeOutcomes, encodeIntents } from "./messages.ts";
import { makeViews } from "./views.ts";
import type { Answer, Call } from "./worker.ts";

/**
 * The embedded engine: reads on this thread, writes in a worker.
 * @param path the database file; it is made when it is not there
 * @throws Refusal `unavailable` when the file cannot be opened or a newer program made it
 */
export function openSqlite(path: string, resources: readonly Resource[]): Engine {
  const database = openDatabase(path);
  try {
    return createEngine(database, path, resources);
  } catch (error) {
    database.close();
    throw error;
  }
}

function createEngine(database: Database, path: string, resources: readonly Resource[]): Engine {
  migrate(database);
  translated(() => makeViews(database, resources));
  const sql = statements(database);
  const files = translated(() => knownFiles(path));
  const requireFiles = createFileWatch(files);
  const watch = translated(() => watchCommits(database, files));
  const writer = startWriter(path, files);
  /** Reads, unless the files are no longer those that are open. */
  function read<T>(work: () => T): T {
    requireFiles();
    return translated(work);
  }
  const heads = (sites: readonly number[]): Head[] =>
    sites.map((site) => (sql.head.get(site) as Head | null) ?? { revision: 0, epoch: "" });

  return {
    heads: (sites) => read(() => heads(sites)),
    unchanged: () => {
      requireFiles();
      return watch();
    },
    openForWriting: async () => void (await writer.call({ name: "open" })),
    load: (site) =>
      read(() =>
        database.transaction(() => {
          const [head] = heads([site]) as [Head];
          return { head, rows: sql.rows.all(site) as Row[] };
        })(),
      ),
    since: (site, revision, options = {}) =>
      read(() =>
        database.transaction(() => {
          const [head] = heads([site]) as [Head];
          const changes = sql.since.all(site, revision, options.limit ?? -1) as Change[];
          return following(changes, head, revision, options);
        })(),
      ),
    commit: async (intents, atomic = false) =>
      decodeOutcomes(await writer.call({ name: "commit", intents: encodeIntents(intents), atomic }), intents),
    noteKeyUse: async (uses) => void (await writer.call({ name: "noteKeyUse", uses })),
    keyUses: () => read(() => new Map(sql.uses.all().map((row) => [row.key_id, row.at] as const))),
    dropSite: async (site) => void (await writer.call({ name: "dropSite", site })),
    dump: () => dumpRows(path),
    refill: (rows: AsyncIterable<DumpedRow>) => refillTables(path, rows),
    check: () => read(() => [...integrity(database), ...checkRows(dumpRows(path))]),
    close: async () => {
      await writer.stop();
      database.close();
    },
  };
}

function statements(database: Database) {
  return {
    head: database.query("select revision, epoch from sites where id = ?"),
    rows: database.query("select resource, id, revision, body from records where site_id = ? order by resource, id"),
    since: database.query(
      "select revision, at, actor, resource, id, operation, body from journal where site_id = ? and revision > ? order by revision limit ?",
    ),
    uses: database.query<{ key_id: number; at: number }, []>("select key_id, at from key_uses"),
  };
}

function integrity(database: Database): string[] {
  const rows = database.query("pragma integrity_check").values() as [string][];
  return rows.map(([line]) => line).filter((line) => line !== "ok");
}

/** The worker, started by the first call. It answers in order, so the calls under way wait in a line. */
function startWriter(path: string, files: readonly KnownFile[]) {
  let worker: Worker | undefined;
  const waiting: { resolve: (value: string) => void; reject: (error: unknown) => void }[] = [];

  function start(): Worker {
    const started = new Worker(new URL("./worker.ts", import.meta.url).href);
    started.onmessage = ({ data }: MessageEvent<Answer>) => {
      const call = waiting.shift();
      if ("value" in data) call?.resolve(data.value);
      else if (data.failure.unavailable)
        call?.reject(new Refusal("unavailable", data.failure.message, { retryAfter: 1 }));
      else call?.reject(new Error(data.failure.message));
      if (waiting.length === 0) started.unref();
    };
    started.onerror = (event) => {
      worker = undefined;
      for (const call of waiting.splice(0)) call.reject(new Error(`the writer thread failed: ${event.message}`));
    };
    started.postMessage({ path, files });
    return started;
  }

  function call(request: Call): Promise<string> {
    worker ??= start();
    const target = worker;
    return new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      target.ref();
      target.postMessage(request);
    });
  }

  async function stop(): Promise<void> {
    if (!worker) return;
    await call({ name: "close" });
    worker.terminate();
    worker = undefined;
  }

  return { call, stop };
}
