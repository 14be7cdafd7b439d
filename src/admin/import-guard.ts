// An import goes on for minutes after the request that started it. Before each batch of rows it is checked again, as a request would be.

import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { mayManage } from "../operator/operator-sites.ts";
import { type ListedOperator, operatorOf } from "../operator/operators.ts";
import type { Call } from "./actions.ts";
import type { BegunImport } from "./imports.ts";
import { currentSystem, sessionOf } from "./session.ts";

/**
 * The engine for an import. It refuses further rows once the operator was removed, may no longer manage the site, or was signed out everywhere. Who
 * signs out in one browser leaves the import to itself. Rows that were stored before stay.
 */
export function guardedEngine(call: Call, begun: BegunImport): Engine {
  const { engine } = call;
  return {
    ...engine,
    async commit(intents, atomic) {
      await requireStill(call, begun);
      return engine.commit(intents, atomic);
    },
  };
}

/** @throws Refusal `forbidden` */
async function requireStill(call: Call, begun: BegunImport): Promise<void> {
  // The session first: it may end just now.
  const operator = (await operatorOfSession(call)) ?? (begun.outlivesSession ? await currentOperator(call) : undefined);
  if (operator && mayManage(operator, begun.site)) return;
  const reason = operator ? "may no longer manage this shop" : "was signed out or removed";
  throw new Refusal("forbidden", `the import was stopped, because ${call.session.operator.Name} ${reason}`);
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
