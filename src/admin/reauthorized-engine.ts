// Authorizes the operator of an import, an undo, a change of many records or the copy for a sandbox again before each transaction, because they can run
// for minutes after the request that started them.

import type { Engine, EngineCommits } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { canManage, findOperator, hasRight, type ListedOperator } from "../operator/operators/operators.ts";
import type { SiteRecord } from "../system/system-records.ts";
import type { ActionContext } from "./action-routes.ts";
import { readSitesAndOperators, requireSession } from "./session.ts";

/** An import, undo, change or copy that an operator has started. `outlivesSession` can change while it runs, and is read before each transaction. */
interface Started {
  /** Whether it continues after the end of the session that has started it. */
  readonly outlivesSession: boolean;
}

/**
 * Wraps the engine of `call` for an import, undo, change or copy. Before each transaction, requires that the operator still exists, may manage the
 * site, has the right that the action needs, and is signed in. With `outlivesSession`, an operator who signed out in one browser counts as signed in.
 * Rows that are already stored are kept.
 */
export function withReauthorization(
  call: ActionContext,
  what: "import" | "undo" | "change" | "copy",
  site: SiteRecord,
  started: Started,
): Engine {
  const { engine } = call;
  const commits: EngineCommits = {
    async commit(intents, options) {
      await reauthorizeOperator(call, what, site, started);
      return engine.commit(intents, options);
    },
    async commitAtomically(...together) {
      await reauthorizeOperator(call, what, site, started);
      return engine.commitAtomically(...together);
    },
  };
  return { ...engine, ...commits };
}

async function reauthorizeOperator(
  call: ActionContext,
  what: string,
  site: SiteRecord,
  started: Started,
): Promise<void> {
  const { session, siteViews, needs } = call;
  // Read `outlivesSession` only after the session: signing out sets it before it ends the session.
  const present = (await operatorOfSession(call)) ?? (started.outlivesSession ? session.operator : undefined);
  const operator = present && findOperator(await readSitesAndOperators(siteViews), present.ID);
  const stop = (why: string) =>
    new ProblemError("forbidden", `the ${what} was stopped, because ${session.operator.Name} ${why}`);
  if (!operator) throw stop("was signed out or removed");
  if (!canManage(operator, site)) throw stop("can no longer manage this site");
  if (!hasRight(operator, needs)) throw stop("has another role now");
}

async function operatorOfSession(call: ActionContext): Promise<ListedOperator | undefined> {
  try {
    return (await requireSession(call.request, call)).operator;
  } catch (error) {
    if (error instanceof ProblemError && error.code === "unauthorized") return undefined;
    throw error;
  }
}
