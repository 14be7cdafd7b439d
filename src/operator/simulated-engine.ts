import { createPace } from "../lib/pace.ts";
import type { Engine } from "../model/engine.ts";
import { decideBatch, newSite, nothingStored, type Stored } from "../store/batch.ts";

export type CommitEngine = Pick<Engine, "commit" | "commitTogether">;

/** Decides as the store would, on a copy of the site, and stores nothing. */
export async function simulatedEngine(
  engine: Pick<Engine, "readSite">,
  site: number,
  systemEpoch: string,
): Promise<CommitEngine> {
  const stored = await copySite(engine, site, systemEpoch);
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

async function copySite(engine: Pick<Engine, "readSite">, site: number, systemEpoch: string): Promise<Stored> {
  return engine.readSite(site, async ({ head, portions }) => {
    const counters: Record<string, number> = {};
    const stored = nothingStored(systemEpoch);
    const pace = createPace();
    for await (const rows of portions) {
      await pace();
      for (const row of rows) {
        counters[row.resource] = Math.max(counters[row.resource] ?? 0, row.id);
        stored.rows.add({ site_id: site, ...row });
      }
    }
    const state = head.revision === 0 ? newSite() : { ...newSite(), ...head, counters, counts: undefined };
    stored.sites.set(site, state);
    return stored;
  });
}
