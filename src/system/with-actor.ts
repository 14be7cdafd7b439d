// The actor of a change: the journal shows the actor that a command or the console's API gives to `withActor`.
//
// The functions of operator/ do not know their caller, so they write `operatorActor` into each intent. The wrapper replaces it in every commit. Only
// a change that no named operator has caused keeps it, for example when a command completes a removal that was interrupted.

import type { Amend } from "../model/amend.ts";
import type { Intent } from "../model/change.ts";
import type { Engine, EngineCommits } from "../model/engine.ts";
import { shareSystemRecords } from "./read-system-records.ts";

/**
 * Wraps `engine` for one command or one action of an operator: the journal shows this actor and run with each change that the wrapper commits.
 * @param actor such as `operator:anna`
 * @param run the ID that all changes of this command or action share
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
    replaceAllData: (rows, save, amend) => engine.replaceAllData(rows, save, amend && addToAmend(amend)),
  };
  shareSystemRecords(engine, wrapper);
  return wrapper;
}

function* addToBatches<T>(batches: Iterable<T>, addTo: (batch: T) => T): Generator<T> {
  for (const batch of batches) yield addTo(batch);
}
