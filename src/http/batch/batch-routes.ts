// The endpoint of batch requests: POST /restapi/batch.json and .xml (contract section 14). This file has the order of the checks.

import type { MalformedOperation, SentOperation } from "../../formats/batch-format.ts";
import { type Format, formats } from "../../formats/format.ts";
import { createYielder } from "../../lib/yielding.ts";
import { maxFieldErrors } from "../../model/errors.ts";
import { basePath, publicResources, type Resource, writtenResources } from "../../model/resource.ts";
import type { WireResponse } from "../../wire/response.ts";
import { requireWriteScope } from "../authorization/authenticate.ts";
import type { RequestAuthorizer } from "../authorization/authorizer.ts";
import { parseIdempotencyName } from "../common/parameters.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { QueryReader } from "../query.ts";
import { parseBatchIdempotency, type RunningIdempotencyKeys } from "../records/idempotency.ts";
import { rejectOtherEncodings } from "../records/record-body.ts";
import { type AuthorizedView, type RequestContext, type SiteRoute, siteRoute } from "../request-context.ts";
import { type BatchParameters, parseBatchParameters, rejectConditions } from "./batch-parameters.ts";
import { type BatchPlaces, readBatchBody } from "./batch-places.ts";
import { respondToBatch } from "./batch-response.ts";
import { checkOperations } from "./check-operations.ts";
import type { BatchResults } from "./results.ts";
import { runAuthorized } from "./run-authorized.ts";
import { type BatchParts, type BatchRequest, runBatch } from "./run-batch.ts";

interface BatchRouteDependencies extends BatchParts, Pick<HttpDependencies, "resources"> {
  readonly authorizer: RequestAuthorizer;
  readonly idempotencies: RunningIdempotencyKeys;
  readonly batchPlaces: BatchPlaces;
  readonly queries: QueryReader;
}

/** Returns the routes of batch requests, by path. */
export function batchRoutes(dependencies: BatchRouteDependencies): [path: string, route: SiteRoute][] {
  const endpoint = new BatchEndpoint(dependencies);
  return formats.map((format) =>
    siteRoute<Omit<SiteRoute, "kind" | "label">>(`${basePath}batch.${format.name}`, {
      readOperation: "batch",
      writeOperation: "batch",
      methods: ["POST", "OPTIONS"],
      methodNotAllowedDetail: () => "send operations with POST; read lists at the path of their resource",
      respond: (context, authorized) => endpoint.respond(context, format, authorized),
    }),
  );
}

class BatchEndpoint {
  readonly #dependencies: BatchRouteDependencies;
  readonly #served: readonly Resource[];
  readonly #written: readonly Resource[];

  constructor(dependencies: BatchRouteDependencies) {
    this.#dependencies = dependencies;
    this.#served = publicResources(dependencies.resources);
    this.#written = writtenResources(this.#served);
  }

  respond(context: RequestContext, format: Format, { key }: AuthorizedView): Promise<WireResponse> {
    const { headers } = context.request;
    requireWriteScope(context, key);
    const { queries } = this.#dependencies;
    const sent = queries.read(context.target.query, { kind: "batch", format, resources: this.#served });
    const parameters = parseBatchParameters(this.#written, sent);
    context.isDryRun = parameters.isDry;
    rejectConditions(headers, "a batch");
    rejectOtherEncodings(headers);
    parseIdempotencyName(context);
    return this.#dependencies.batchPlaces.withPlace(key, () => this.#receive(context, format, parameters));
  }

  /** Waits for the body, and authorizes again, because the key may have been revoked or the site removed while the body arrived. */
  async #receive(context: RequestContext, format: Format, parameters: BatchParameters): Promise<WireResponse> {
    const { view: body } = await readBatchBody(context.request);
    const { authorizer } = this.#dependencies;
    const { key } = await authorizer.reauthorize(context, (authorized) => authorized);
    requireWriteScope(context, key);
    const operations: SentOperation[] = [];
    try {
      await decodeOperations(format, body, this.#served, parameters.match, operations);
    } finally {
      authorizer.countOperations(context, key, operations.length);
    }
    const idempotency = parameters.isDry ? undefined : await parseBatchIdempotency(context, key, body);
    const request = { ...parameters, operations, idempotency };
    const results = await this.#dependencies.idempotencies.runUnlessRunning(idempotency, () =>
      this.#run(context, request),
    );
    return respondToBatch(context, format, operations, results);
  }

  #run(context: RequestContext, request: BatchRequest): Promise<BatchResults> {
    const { authorizer } = this.#dependencies;
    return authorizer.reauthorize(context, (first) =>
      runAuthorized(authorizer, context, first, {
        work: (authorized) => runBatch(this.#dependencies, context, authorized, request),
        isStored: ({ run, isReplay }) => run !== null && !isReplay,
      }),
    );
  }
}

/**
 * Decodes the operations of a body. Yields to the event loop in between.
 * @param served the resources that have endpoints
 * @param match as `BatchParameters.match`
 * @param decoded gets the operations; some of them also if the body cannot be read to its end
 * @throws ProblemError as `BatchFormat.operations`; `bad-request` with all faults if operations are malformed
 */
export async function decodeOperations(
  { batch }: Format,
  body: Uint8Array,
  served: readonly Resource[],
  match: string | undefined,
  decoded: SentOperation[],
): Promise<void> {
  const malformed: MalformedOperation[] = [];
  let faults = 0;
  const yieldIfDue = createYielder();
  for (const read of batch.operations(body, served)) {
    await yieldIfDue();
    if (!read) continue;
    if ("faults" in read) {
      malformed.push(read);
      faults += read.faults.length;
      if (faults > maxFieldErrors) break;
    } else decoded.push(read);
  }
  if (malformed.length > 0) await checkOperations(decoded, match, malformed);
}
