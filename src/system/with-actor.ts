// Puts the actor and run of a command or console action into everything it changes.
//
// operator/ doesn't know who's calling, so it writes `operatorActor` into each intent, and this wrapper replaces that in every commit. It only remains in
// changes that nobody in particular has made, such as when a command completes an interrupted removal.

import type { Amend } from "../model/amend.ts";
import type { Intent } from "../model/change.ts";
import type { Engine, EngineCommits } from "../model/engine.ts";
import { shareSystemRecords } from "./read-system-records.ts";

/**
 * Wraps `engine` for one command or console action.
 * @param actor such as `operator:anna`
 * @param run the ID that all its changes share
 */
export function withActor(engine: Engine, actor: string, run: string): Engine {
  const addToIntents = (intents: readonly Intent[]) => intents.map((intent) => ({ ...intent, actor, run }));
  const addToAmend =
    (amend: Amend): Amend =>
    (swap) => {
      const { intents, ...others } = amend(swap);
      return { intents: addToIntents(intents), ...others };
    };
  const commits: EngineCommits = {
    commit: (intents, options) => engine.commit(addToIntents(intents), options),
    commitAtomically: (batches, onOutcomes, options) =>
      engine.commitAtomically(addToBatches(batches, addToIntents), onOutcomes, options),
  };
  const wrapper: Engine = {
    ...engine,
    ...commits,
    actor,
    replaceAllData: (rows, save, amend) => engine.replaceAllData(rows, save, amend && addToAmend(amend)),
  };
  shareSystemRecords(engine, wrapper);
  return wrapper;
}

function* addToBatches<T>(batches: Iterable<T>, addTo: (batch: T) => T): Generator<T> {
  for (const batch of batches) yield addTo(batch);
}
