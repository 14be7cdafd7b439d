import type { Engine } from "../model/engine.ts";
import { decideBatch, newSite, rowKey, type Stored } from "../store/batch.ts";
import type { LoadedSite } from "../store/load-site.ts";

export type CommitEngine = Pick<Engine, "commit" | "commitTogether">;

/** Decides as the store would, on a copy of the site, and stores nothing. */
export function simulatedEngine(site: number, { head, rows }: LoadedSite): CommitEngine {
  const counters: Record<string, number> = {};
  for (const { resource, id } of rows) counters[resource] = Math.max(counters[resource] ?? 0, id);
  const stored: Stored = {
    sites: new Map([[site, head.revision === 0 ? newSite() : { ...newSite(), ...head, counters, counts: undefined }]]),
    rows: new Map(rows.map((row) => [rowKey(site, row.resource, row.id), row])),
    responses: new Map(),
  };
  return {
    commit: async (intents, atomic) => decideBatch(intents, stored, atomic).outcomes,
    commitTogether: async (batches, onOutcomes) => {
      for (const intents of batches) {
        const { outcomes } = decideBatch(intents, stored, true);
        await onOutcomes(outcomes);
        if (outcomes.at(-1)?.kind === "refused") return;
      }
    },
  };
}
