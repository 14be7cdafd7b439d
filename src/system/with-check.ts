// Checks again, right before each commit, whether the one who started something may still do it: work can run for minutes, and bodies can be slow.

import type { Engine, EngineCommits } from "../model/engine.ts";
import { shareSystemRecords } from "./read-system-records.ts";

/** @param check rejects to stop the commit. What's already stored is kept */
export function withCheck(engine: Engine, check: () => Promise<unknown>): Engine {
  const commits: EngineCommits = {
    async commit(intents, options) {
      await check();
      return engine.commit(intents, options);
    },
    async commitAtomically(...together) {
      await check();
      return engine.commitAtomically(...together);
    },
  };
  const wrapper: Engine = { ...engine, ...commits };
  shareSystemRecords(engine, wrapper);
  return wrapper;
}
