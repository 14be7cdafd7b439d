// Checks the operator's rights again before each transaction of an import, an undo, a change to many records or a sandbox copy, because these can run for
// minutes after the request that started them.

import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { canManage, findOperator, hasRight, type ListedOperator } from "../operator/operators/operators.ts";
import type { SiteRecord } from "../system/system-records.ts";
import { withCheck } from "../system/with-check.ts";
import type { ActionContext } from "./action-routes.ts";
import { readSitesAndOperators, requireSession } from "./session.ts";

/** What an operator has started. */
interface Started {
  /** Whether it continues after its session has ended. Can change while it runs, so it's read before each transaction. */
  readonly outlivesSession: boolean;
}

/**
 * Before each transaction, checks that the operator still exists, can manage the site, has the right that the action needs, and is signed in. With
 * `outlivesSession`, someone who has only signed out in one browser counts as signed in. What's already stored is kept.
 */
export function withReauthorization(
  call: ActionContext,
  what: "import" | "undo" | "change" | "copy",
  site: SiteRecord,
  started: Started,
): Engine {
  return withCheck(call.engine, () => reauthorizeOperator(call, what, site, started));
}

async function reauthorizeOperator(
  call: ActionContext,
  what: string,
  site: SiteRecord,
  started: Started,
): Promise<void> {
  const { session, siteViews, needs } = call;
  // `outlivesSession` is read after the session, because signing out sets it before it ends the session.
  const present = (await operatorOfSession(call)) ?? (started.outlivesSession ? session.operator : undefined);
  const operator = present && findOperator(await readSitesAndOperators(siteViews), present.ID);
  const stop = (why: string) =>
    new ProblemError("forbidden", `the ${what} was stopped, because ${session.operator.Name} ${why}`);
  if (!operator) throw stop("was signed out or removed");
  if (!canManage(operator, site)) throw stop("can no longer manage this site");
  if (!hasRight(operator, needs)) throw stop("now has another role");
}

async function operatorOfSession(call: ActionContext): Promise<ListedOperator | undefined> {
  try {
    return (await requireSession(call.request, call)).operator;
  } catch (error) {
    if (error instanceof ProblemError && error.code === "unauthorized") return undefined;
    throw error;
  }
}
