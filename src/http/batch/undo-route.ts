// POST /restapi/undo.json and .xml: a key undoes one of its runs (contract section 14).

import { type Format, formats } from "../../formats/format.ts";
import { basePath, publicResources } from "../../model/resource.ts";
import { sizeOfRun } from "../../store/writes/undo-plan.ts";
import type { WireResponse } from "../../wire/response.ts";
import { requireWriteScope } from "../authorization/authenticate.ts";
import type { RequestAuthorizer } from "../authorization/authorizer.ts";
import { parseIdempotencyName, parseSwitch } from "../common/parameters.ts";
import type { QueryReader } from "../query.ts";
import { parseBatchIdempotency, type RunningIdempotencyKeys } from "../records/idempotency.ts";
import { rejectOtherEncodings } from "../records/record-body.ts";
import { type AuthorizedView, type RequestContext, type SiteRoute, siteRoute } from "../request-context.ts";
import { toResponse } from "../responses.ts";
import { rejectConditions } from "./batch-parameters.ts";
import type { BatchPlaces } from "./batch-places.ts";
import { runAuthorized } from "./run-authorized.ts";
import { type UndoParts, type UndoResult, undoRun } from "./run-undo.ts";

interface UndoRouteDependencies extends UndoParts {
  readonly authorizer: RequestAuthorizer;
  readonly idempotencies: RunningIdempotencyKeys;
  readonly batchPlaces: BatchPlaces;
  readonly queries: QueryReader;
}

/** Returns the routes of undo, by path. */
export function undoRoutes(dependencies: UndoRouteDependencies): [path: string, route: SiteRoute][] {
  return formats.map((format) =>
    siteRoute<Omit<SiteRoute, "kind" | "label">>(`${basePath}undo.${format.name}`, {
      readOperation: "undo",
      writeOperation: "undo",
      methods: ["POST", "OPTIONS"],
      methodNotAllowedDetail: () => "undo a run with POST",
      respond: (context, authorized) => respondToUndo(dependencies, context, format, authorized),
    }),
  );
}

async function respondToUndo(
  dependencies: UndoRouteDependencies,
  context: RequestContext,
  format: Format,
  { key }: AuthorizedView,
): Promise<WireResponse> {
  const { request, target } = context;
  requireWriteScope(context, key);
  const { authorizer, batchPlaces, idempotencies, queries, resources } = dependencies;
  const parameters = queries.read(target.query, { kind: "undo", format, resources: publicResources(resources) });
  const isDry = parseSwitch(parameters, "dryRun", false);
  context.isDryRun = isDry;
  rejectConditions(request.headers, "an undo");
  rejectOtherEncodings(request.headers);
  parseIdempotencyName(context);
  const body = request.receivedBody ?? (await request.readBody());
  return authorizer.reauthorize(context, async (authorized) => {
    requireWriteScope(context, authorized.key);
    const idempotency = isDry ? undefined : await parseBatchIdempotency(context, authorized.key, body.view);
    const { run } = format.batch.undo(body.view);
    // An undo counts as a batch request of the size of its run, and needs as much memory.
    authorizer.countOperations(context, authorized.key, sizeOfRun(run));
    const undo = () =>
      runAuthorized(authorizer, context, authorized, {
        work: (current) => undoRun(dependencies, context, current, { run, isDry, idempotency }),
        isStored: ({ undone, isReplay }) => undone.run !== null && !isReplay,
      });
    const result = await batchPlaces.withPlace(authorized.key, () => idempotencies.runUnlessRunning(idempotency, undo));
    return toUndoneResponse(context, format, result);
  });
}

function toUndoneResponse(context: RequestContext, format: Format, { undone, isReplay }: UndoResult): WireResponse {
  const content = { type: format.contentType, body: format.batch.undone(undone) };
  return toResponse(context, 200, content, isReplay ? { "Idempotency-Replayed": "true" } : {});
}
