import { type Format, formats } from "../../formats/format.ts";
import { ProblemError } from "../../model/errors.ts";
import { writeRight } from "../../model/key-rights.ts";
import { basePath, writtenResources } from "../../model/resource.ts";
import type { ApiKey } from "../../system/system-records.ts";
import type { WireResponse } from "../../wire/response.ts";
import { missingRightError } from "../authorization/authenticate.ts";
import type { RequestAuthorizer } from "../authorization/authorizer.ts";
import { parseIdempotencyName } from "../common/parameters.ts";
import type { QueryOwner } from "../parameter-advice.ts";
import type { QueryReader } from "../query.ts";
import type { RunningIdempotencyKeys } from "../records/idempotency.ts";
import { rejectOtherEncodings } from "../records/record-body.ts";
import { type AuthorizedView, type RequestContext, type SiteRoute, siteRoute } from "../request-context.ts";
import type { BatchPlaces } from "./batch-places.ts";

export interface RunRouteDependencies {
  readonly authorizer: RequestAuthorizer;
  readonly idempotencies: RunningIdempotencyKeys;
  readonly batchPlaces: BatchPlaces;
  readonly queries: QueryReader;
}

/** Makes the routes of batch or undo, one per format. @param otherMethodDetail what to tell a client that uses another method than POST */
export function runRoutes(
  name: "batch" | "undo",
  otherMethodDetail: string,
  respond: (context: RequestContext, format: Format, authorized: AuthorizedView) => Promise<WireResponse>,
): [path: string, route: SiteRoute][] {
  return formats.map((format) =>
    siteRoute<Omit<SiteRoute, "kind" | "label">>(`${basePath}${name}.${format.name}`, {
      readOperation: name,
      writeOperation: name,
      methods: ["POST", "OPTIONS"],
      methodNotAllowedDetail: () => otherMethodDetail,
      respond: (context, authorized) => respond(context, format, authorized),
    }),
  );
}

/** Checks a request before its body is read, and returns its query parameters. @throws ProblemError */
export function checkHead(
  { queries }: RunRouteDependencies,
  context: RequestContext,
  key: ApiKey,
  owner: QueryOwner & { readonly kind: "batch" | "undo" },
): URLSearchParams {
  const { request, target } = context;
  // Which ones it needs depends on the operations, or on what the run changed.
  const anyOf = writtenResources(owner.resources).map(writeRight);
  if (!anyOf.some((right) => key.rights.allows(right))) throw missingRightError(context, anyOf);
  const parameters = queries.read(target.query, owner);
  // These don't fit many records, and ignoring them would be unsafe.
  const [what, advice] = owner.kind === "batch" ? ["a batch", "; send `IfMatch` in each operation"] : ["an undo", ""];
  for (const name of ["If-Match", "If-None-Match"])
    if (request.headers.has(name.toLowerCase()))
      throw new ProblemError("bad-request", `${what} can't have ${name}${advice}`);
  rejectOtherEncodings(request.headers);
  parseIdempotencyName(context);
  return parameters;
}
