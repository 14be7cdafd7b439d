import type { Amend } from "../model/amend.ts";
import type { Engine } from "../model/engine.ts";
import type { Intent } from "../model/intent.ts";

/**
 * The same engine for one command or one action of an operator: whatever it changes is journaled under this actor and run.
 * @param actor such as `operator:anna`
 * @param run the ID that all of its changes share
 */
export function actingAs(engine: Engine, actor: string, run: string): Engine {
  const signed = (intents: readonly Intent[]) => intents.map((intent) => ({ ...intent, actor, run }));
  const signing = (amend: Amend): Amend => ({
    ...amend,
    decide(swap) {
      const { intents, webhooks } = amend.decide(swap);
      return { intents: signed(intents), webhooks };
    },
  });
  return {
    ...engine,
    commit: (intents, atomic) => engine.commit(signed(intents), atomic),
    commitTogether: (batches, onOutcomes) => engine.commitTogether(signAll(batches, signed), onOutcomes),
    refill: (rows, save, amend) => engine.refill(rows, save, amend && signing(amend)),
  };
}

function* signAll<T>(batches: Iterable<T>, signed: (batch: T) => T): Generator<T> {
  for (const batch of batches) yield signed(batch);
}
