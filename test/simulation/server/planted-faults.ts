// Faults that the simulation of servers must find. Each changes the program's code, or a process's engine, while it runs.

import type { createHttpParts } from "../../../src/http/server.ts";
import type { Engine, RecordRow } from "../../../src/model/engine.ts";
import { RetryableError } from "../../../src/model/errors.ts";
import { systemSite } from "../../../src/model/system-site.ts";
import { Collection } from "../../../src/store/memory/collection.ts";
import { Snapshot } from "../../../src/store/memory/snapshot.ts";
import type { SiteViews } from "../../../src/store/reads/site-views.ts";
import type { SimulatedDatabase } from "../database.ts";
import type { Random } from "../random.ts";

export interface PlantedServerFault {
  /** The report that finds it. */
  readonly report: RegExp;
  /** The seed that last found it, which the test tries first. */
  readonly seed: number;
  /** Replaces a process's engine. */
  engine?(engine: Engine, database: SimulatedDatabase, random: Random): Engine;
  /** Changes a process's parts. */
  server?(parts: Pick<ReturnType<typeof createHttpParts>, "authorizer"> & { readonly siteViews: SiteViews }): void;
  /** Changes all processes' code, until the returned function is called. */
  install?(): () => void;
  /** Probability that a commit's notification is lost although processes think none is. */
  readonly secretlyLost?: number;
}

/** Replaces a class's method until the returned function is called. */
function replaced<T extends object, K extends keyof T>(target: T, name: K, make: (original: T[K]) => T[K]): () => void {
  const original = target[name];
  target[name] = make(original);
  return () => {
    target[name] = original;
  };
}

export const plantedServerFaults: Readonly<Record<string, PlantedServerFault>> = {
  "a fold skips a change": {
    report: /is not the list of any moment|which it was not at any moment|^the snapshot of/,
    seed: 1,
    install: () =>
      replaced(
        Snapshot.prototype,
        "apply",
        (apply) =>
          function (this: Snapshot, change) {
            const isSkipped = this.siteId !== systemSite && change.revision % 7 === 0;
            return apply.call(this, isSkipped ? { ...change, resource: "none" } : change);
          },
      ),
  },
  "a stale 304": {
    report: /304 although the list has changed|is of two contents/,
    seed: 1,
    install: () =>
      replaced(
        Collection.prototype,
        "version",
        (version) =>
          async function (this: Collection) {
            const made = await version.call(this);
            return Object.assign(made, { revision: made.revision - (made.revision % 2) });
          },
      ),
  },
  "an idempotency record before its commit": {
    report: /was acknowledged, but is not in the database/,
    seed: 7,
    engine: (engine, database, random) => ({
      ...engine,
      commit: async (intents, options) => {
        if (!random.chance(0.1)) return engine.commit(intents, options);
        database.storeResponsesOnly(intents, options);
        throw new RetryableError("the process has ended between the two transactions");
      },
    }),
  },
  "a batch request without its idempotency record": {
    report: /was made twice/,
    seed: 2,
    engine: (engine) => ({
      ...engine,
      commitAtomically: (batches, onOutcomes, options) =>
        engine.commitAtomically(batches, onOutcomes, { ...options, idempotency: undefined }),
    }),
  },
  "a snapshot of another history": {
    report: /which it was not at any moment|is not the list of any moment/,
    seed: 2,
    engine: (engine) => {
      const rows = new Map<number, { readonly epoch: string; readonly chunks: readonly (readonly RecordRow[])[] }>();
      return {
        ...engine,
        readSite: (site, use, requiredHead) =>
          engine.readSite(
            site,
            async (contents) => {
              const { epoch } = contents.head;
              const kept = rows.get(site);
              const chunks = await Array.fromAsync(contents.rowChunks);
              if (site === systemSite || !kept) rows.set(site, { epoch, chunks });
              return use({ ...contents, rowChunks: kept && kept.epoch !== epoch ? kept.chunks : chunks });
            },
            requiredHead,
          ),
      };
    },
  },
  "a lost wake-up": { report: /a long poll ended empty/, seed: 28, secretlyLost: 0.7 },
  "a key is checked before the body only": {
    report: /with the revoked key/,
    seed: 9,
    server: ({ authorizer, siteViews }) => {
      authorizer.reauthorize = async (context, use) => {
        const { key } = context;
        if (!key) throw new Error("the request was not authorized before");
        const siteView = await siteViews.getUpToDate(key.siteId);
        return use({ key, siteView, systemHead: siteViews.systemHead });
      };
    },
  },
  "If-Match is not checked": {
    report: /although If-Match had another version/,
    seed: 50,
    engine: (engine) => ({
      ...engine,
      commit: (intents, options) =>
        engine.commit(
          intents.map((intent) => ({ ...intent, ifVersion: undefined })),
          options,
        ),
    }),
  },
  "a page of the feed leaves out a change": {
    report: /is not that of any moment/,
    seed: 1,
    engine: (engine) => ({
      ...engine,
      readJournalPage: async (site, revision, limit) => {
        const page = await engine.readJournalPage(site, revision, limit);
        const entries = page.entries.map((entry) =>
          entry.revision % 9 === 0 ? { ...entry, resource: "none" } : entry,
        );
        return { ...page, entries };
      },
    }),
  },
};
