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
  const addActor = (intents: readonly Intent[]) => intents.map((intent) => ({ ...intent, actor, run }));
  const addingActor = (amend: Amend): Amend => ({
    ...amend,
    decide(swap) {
      const { intents, webhooks } = amend.decide(swap);
      return { intents: addActor(intents), webhooks };
    },
  });
  const commits: EngineCommits = {
    commit: (intents, options) => engine.commit(addActor(intents), options),
    commitAtomically: (batches, onOutcomes) => engine.commitAtomically(addActorToAll(batches, addActor), onOutcomes),
  };
  const wrapper: Engine = {
    ...engine,
    ...commits,
    replaceAllData: (rows, save, amend) => engine.replaceAllData(rows, save, amend && addingActor(amend)),
  };
  shareSystemRecords(engine, wrapper);
  return wrapper;
}

function* addActorToAll<T>(batches: Iterable<T>, addActor: (batch: T) => T): Generator<T> {
  for (const batch of batches) yield addActor(batch);
}
