// Requires that the same machine has the database as before, for imports and undos, which decide by earlier reads.

import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";

/**
 * Requires that no other machine has taken over the database since `head` was read. That machine may lack the last changes, and have other changes with
 * the same revisions, so that conditions of a write would hold by chance. Costs a query, unless no other machine can take over.
 * @throws ProblemError `conflict`
 */
export async function requireSameMachine(engine: Pick<Engine, "readHeads">, { timeline }: Head): Promise<void> {
  if (timeline === undefined) return;
  const [present] = await engine.readHeads([systemSite]);
  if (present?.timeline === timeline) return;
  throw new ProblemError(
    "conflict",
    "another machine has taken over the database, and may lack its last changes: start again",
  );
}
