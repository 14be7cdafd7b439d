// Imports and undos take minutes after the request that started them. Before each transaction they are checked again, as a request would be.

import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { type ListedOperator, mayManage, operatorOf } from "../operator/operators.ts";
import type { Call } from "./action-routes.ts";
import { currentSystem, sessionOf } from "./session.ts";

/** What an operator has started. It is read again before each transaction. */
interface Started {
  readonly site: number;
  /** Whether it goes on although the session in which it was started has ended. */
  readonly outlivesSession: boolean;
}

/**
 * The engine for what an operator has started. It refuses further transactions once the operator was removed, may no longer manage the site, or was
 * signed out. Who signs out in one browser leaves an import to itself, see `outlivesSession`. What was stored before stays.
 */
export function guardedEngine(call: Call, what: "import" | "undo", started: Started): Engine {
  const { engine } = call;
  return {
    ...engine,
    async commit(intents, atomic) {
      await requireStill(call, what, started);
      return engine.commit(intents, atomic);
    },
    async commitTogether(batches, onOutcomes) {
      await requireStill(call, what, started);
      return engine.commitTogether(batches, onOutcomes);
    },
  };
}

/** @throws Refusal `forbidden` */
async function requireStill(call: Call, what: string, started: Started): Promise<void> {
  // The session first: it may end just now.
  const operator =
    (await operatorOfSession(call)) ?? (started.outlivesSession ? await currentOperator(call) : undefined);
  if (operator && mayManage(operator, started.site)) return;
  const reason = operator ? "may no longer manage this shop" : "was signed out or removed";
  throw new Refusal("forbidden", `the ${what} was stopped, because ${call.session.operator.Name} ${reason}`);
}

async function operatorOfSession(call: Call): Promise<ListedOperator | undefined> {
  try {
    return (await sessionOf(call.request, call)).operator;
  } catch (error) {
    if (error instanceof Refusal && error.code === "unauthorized") return undefined;
    throw error;
  }
}

async function currentOperator({ session, snapshots }: Call): Promise<ListedOperator | undefined> {
  return operatorOf(await currentSystem(snapshots), session.operator.ID);
}
