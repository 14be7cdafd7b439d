import type { Database } from "bun:sqlite";
import type { Engine } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { watchCommits } from "./commit-watch.ts";
import { migrate, openDatabase, translated } from "./database.ts";
import { createFileWatch, knownFiles, requireSameFiles } from "./files.ts";
import { decodeOutcomes, encodeIntents } from "./messages.ts";
import { giveWay } from "./portions.ts";
import { isWriteProtected, openReadOnly } from "./read-only.ts";
import { createReader } from "./reader.ts";
import { refillTables } from "./refill.ts";
import { makeViews } from "./views.ts";
import type { WorkerCall, WorkerResult, WorkerStart } from "./worker.ts";

/**
 * The embedded engine: reads on this thread, writes in a worker.
 * @param path the database file; it is created if it does not exist
 * @param busyTimeout milliseconds to wait for transactions of other processes; by default those of a server
 * @throws Refusal `unavailable` when the file cannot be opened or a newer program made it
 */
export function openSqlite(path: string, resources: readonly Resource[], busyTimeout?: number): Engine {
  const database = openDatabase(path, busyTimeout);
  try {
    return createEngine(database, path, resources, busyTimeout);
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * The same, or only its read side if the file cannot be written: writes are then refused.
 * @throws Refusal as openSqlite does
 */
export function openReadableSqlite(path: string, resources: readonly Resource[], busyTimeout?: number): Engine {
  try {
    return openSqlite(path, resources, busyTimeout);
  } catch (error) {
    if (!isWriteProtected(error)) throw error;
    return openReadOnlyAfter(error, path);
  }
}

/** The error of the second attempt has no more information than `error` of the first. */
function openReadOnlyAfter(error: unknown, path: string): Engine {
  try {
    return openReadOnly(path);
  } catch (second) {
    throw second instanceof Refusal ? second : error;
  }
}

function createEngine(
  database: Database,
  path: string,
  resources: readonly Resource[],
  busyTimeout: number | undefined,
): Engine {
  migrate(database);
  translated(() => makeViews(database, resources));
  const files = translated(() => knownFiles(path));
  const requireFiles = createFileWatch(files);
  const watch = translated(() => watchCommits(database, files));
  /** Another connection to the same database. It requires the file, since SQLite would create a new one. */
  const openAgain = () => {
    requireSameFiles(files);
    return openDatabase(path, busyTimeout);
  };
  const reader = createReader(database, openAgain, requireFiles);
  const writer = startWriter({ path, files, busyTimeout });
  return {
    ...reader,
    unchanged: () => {
      requireFiles();
      return watch();
    },
    openForWriting: async () => void (await writer.call({ name: "open" })),
    commit: async (intents, atomic = false) =>
      decodeOutcomes(await writer.call({ name: "commit", intents: encodeIntents(intents), atomic }), intents),
    tryWrite: async () => void (await writer.call({ name: "tryWrite" })),
    deleteExpiredResponses: async (before, most) =>
      (await writer.call({ name: "deleteExpiredResponses", before, most })) === "more",
    noteCounts: async (site, head, counts) => void (await writer.call({ name: "noteCounts", site, head, counts })),
    noteKeyUse: async (uses) => void (await writer.call({ name: "noteKeyUse", uses })),
    dropSite: async (site) => {
      while ((await writer.call({ name: "dropPortion", site })) === "more") await giveWay();
    },
    refill: (rows, save) => refillTables(openAgain, rows, save),
    close: async () => {
      await writer.stop();
      database.close();
    },
  };
}

/** The worker, started by the first call. It returns results in order, so pending calls are a queue. */
function startWriter(how: WorkerStart) {
  let worker: Worker | undefined;
  const waiting: { resolve: (value: string) => void; reject: (error: unknown) => void }[] = [];

  function start(): Worker {
    const started = new Worker(new URL("./worker.ts", import.meta.url).href);
    started.onmessage = ({ data }: MessageEvent<WorkerResult>) => {
      const call = waiting.shift();
      if ("value" in data) call?.resolve(data.value);
      else if (data.failure.unavailable)
        call?.reject(new Refusal("unavailable", data.failure.message, { retryAfter: 1 }));
      else call?.reject(new Error(data.failure.message));
      if (waiting.length === 0) started.unref();
    };
    let why = "";
    started.onerror = ({ message }) => {
      why = `: ${message}`;
    };
    // Pending calls get no result, however the worker ended. The next call starts another worker.
    started.addEventListener("close", () => {
      worker = undefined;
      const failure = new Refusal(
        "unavailable",
        `the writer thread ended${why}; what it was asked may have been done`,
        {
          retryAfter: 1,
        },
      );
      for (const call of waiting.splice(0)) call.reject(failure);
    });
    started.postMessage(how);
    return started;
  }

  function call(request: WorkerCall): Promise<string> {
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
    const stopped = worker;
    worker = undefined;
    stopped?.terminate();
  }

  return { call, stop };
}
