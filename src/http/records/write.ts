// Creates, updates and deletes records: turns a request into an intent, puts it into the write queue and turns the outcome into a response.

import type { SentChanges } from "../../model/canonical-json.ts";
import {
  type AcceptedOutcome,
  type Intent,
  type Operation,
  type Outcome,
  type RejectedOutcome,
  versionParts,
} from "../../model/change.ts";
import { documentOf } from "../../model/encoding.ts";
import type { Engine } from "../../model/engine.ts";
import { OutdatedError, ProblemError } from "../../model/errors.ts";
import { requireOneId, toDeclaredJson, toId } from "../../model/record.ts";
import { basePath } from "../../model/resource.ts";
import { DryRunEngine } from "../../store/writes/dry-run-engine.ts";
import type { WriteQueue } from "../../store/writes/write-queue.ts";
import type { BodyBytes } from "../../wire/request-body.ts";
import type { HeaderParts, WireResponse } from "../../wire/response.ts";
import { authorizedIntent } from "../authorization/authorized-intent.ts";
import { idempotencyKeyReusedError, parseSwitch } from "../common/parameters.ts";
import { hasWeakTag, toEtag, versionsInIfMatch, versionsInIfNoneMatch, weakTagError } from "../conditional-requests.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { QueryReader } from "../query.ts";
import {
  type AuthorizedView,
  idIn,
  type RequestContext,
  type ResourceRoute,
  recordNotFoundError,
} from "../request-context.ts";
import { toResponse } from "../responses.ts";
import { parseIdempotency, type RunningIdempotencyKeys } from "./idempotency.ts";
import { parseChangesBody, parseNewBody } from "./record-body.ts";

const operations: Record<string, Operation> = { POST: "create", PUT: "update", PATCH: "update", DELETE: "delete" };

export interface AuthorizedWrite {
  readonly authorized: AuthorizedView;
  /** From the query. They must all be the same. */
  readonly idsInQuery: readonly number[];
  /** The time of the write, in milliseconds since 1970 (UTC). */
  readonly at: number;
  readonly body: BodyBytes;
}

interface WriteDependencies extends Pick<HttpDependencies, "engine"> {
  readonly writeQueue: WriteQueue;
  readonly idempotencies: RunningIdempotencyKeys;
}

/**
 * Resolves with the response once the change is durable. A dry run gets the same response without storing anything.
 * @throws ProblemError if the request or the write is rejected; OutdatedError if the epoch, the key or the site changed while the write was queued
 */
export function respondToWrite(
  context: RequestContext,
  route: ResourceRoute,
  write: AuthorizedWrite,
  { engine, writeQueue, idempotencies }: WriteDependencies,
): Promise<WireResponse> {
  const intent = toIntent(context, route, write);
  const decided = context.isDryRun
    ? decideAlone(engine, intent)
    : idempotencies.runUnlessRunning(intent.idempotency, () => writeQueue.enqueue(intent));
  return decided.then((outcome) => {
    if (outcome.kind === "rejected") throw toRejectionError(context, outcome, route, intent);
    return toWrittenResponse(context, route, outcome);
  });
}

async function decideAlone(engine: Engine, intent: Intent): Promise<Outcome> {
  const dryRun = new DryRunEngine(engine, intent.site);
  try {
    const [outcome] = await dryRun.commit([intent]);
    return outcome as Outcome;
  } finally {
    dryRun.close();
  }
}

const noIds: readonly number[] = [];

/**
 * Parses a write's query, and tells the context whether it's a dry run.
 * @returns the IDs in the query
 * @throws ProblemError `bad-request` for an unknown parameter or a bad value
 */
export function parseWriteParameters(
  context: RequestContext,
  { resource, format }: ResourceRoute,
  queries: QueryReader,
): readonly number[] {
  const { query } = context.target;
  if (query === "") return noIds;
  const kind = operations[context.method] as "create" | "update" | "delete";
  const parameters = queries.read(query, { kind, format, resources: [resource] });
  context.isDryRun = parseSwitch(parameters, "dryRun", false);
  return parameters.getAll("ID").map((value) => {
    const id = toId(value);
    if (id !== undefined) return id;
    throw new ProblemError("bad-request", `\`ID\` must be a whole number from 1, not \`${value.slice(0, 40)}\``);
  });
}

function toIntent(
  context: RequestContext,
  route: ResourceRoute,
  { authorized, at, body, idsInQuery }: AuthorizedWrite,
): Intent {
  const operation = operations[context.method] as Operation;
  const isNew = operation === "create";
  const wanted = isNew
    ? { valuesJson: parseNewBody(context, route, body) }
    : parseChange(context, route, { body, idsInQuery }, operation);
  const { headers } = context.request;
  return {
    ...authorizedIntent(context, authorized, at),
    resource: route.resource.name,
    operation,
    ...wanted,
    ifVersion: isNew ? undefined : versionsInIfMatch(headers.get("if-match")),
    ifNotVersion: isNew ? undefined : versionsInIfNoneMatch(headers.get("if-none-match")),
    idempotency: parseIdempotency(context, authorized.key, body),
  };
}

/**
 * The path, the query and the body may each have the ID; they must agree (contract section 2).
 * @throws ProblemError `ambiguous-id` without an ID or with different ones; `not-found` for an invalid ID in the path; the body's errors
 */
function parseChange(
  context: RequestContext,
  route: ResourceRoute,
  { body, idsInQuery }: Pick<AuthorizedWrite, "body" | "idsInQuery">,
  operation: Operation,
): { id: number; valuesJson: string } {
  const { recordIdInPath, target } = context;
  if (!route.isList && recordIdInPath === undefined) throw recordNotFoundError(route, idIn(target.path));
  const changes = operation === "delete" && saysNothing(body) ? nothing : parseChangesBody(context, route, body);
  const id = requireOneId([recordIdInPath, ...idsInQuery, changes.id], recordIdHint(route));
  return { id, valuesJson: changes.valuesJson };
}

/** Some clients send an empty JSON value with a delete. PHP encodes an empty object as `[]`. */
function saysNothing(body: BodyBytes): boolean {
  return body.length === 0 || /^(?:\[\s*\]|\{\s*\}|null|"")?$/.test(body.text.trim());
}

const nothing: SentChanges = { id: undefined, valuesJson: "{}" };

function recordIdHint({ resource, format }: ResourceRoute): string {
  const path = `${basePath}${resource.path}`;
  const inBody = format.name === "xml" ? `<${resource.element} ID="12">` : '{"ID": 12, ...}';
  return `put its ID in the path (\`${path}/12.${format.name}\`), the body (\`${inBody}\`) or the query (\`${path}.${format.name}?ID=12\`)`;
}

function toRejectionError(
  context: RequestContext,
  { rejectionReason }: RejectedOutcome,
  route: ResourceRoute,
  intent: Intent,
): ProblemError {
  if (rejectionReason === "not-found") return recordNotFoundError(route, intent.id as number);
  if (rejectionReason === "precondition-failed") {
    const record = `the ${route.resource.singular} ${intent.id}`;
    if (intent.ifNotVersion)
      return new ProblemError(rejectionReason, `${record} matches If-None-Match, so nothing was written`);
    if (hasWeakTag(context.request.headers.get("if-match"))) return weakTagError();
    return new ProblemError(rejectionReason, `${record} has changed since; read it again`);
  }
  if (rejectionReason === "idempotency-key-reused") return idempotencyKeyReusedError();
  if (rejectionReason === "other-epoch") return new OutdatedError("epoch");
  if (rejectionReason === "authorization-changed") return new OutdatedError("key");
  throw new Error(`${intent.operation} was rejected: ${rejectionReason}`);
}

function toWrittenResponse(context: RequestContext, route: ResourceRoute, outcome: AcceptedOutcome): WireResponse {
  const { resource, format } = route;
  const body = documentOf(format, resource, toDeclaredJson(resource, outcome.body));
  const content = { type: format.contentType, body };
  const headers: Record<string, string | HeaderParts> =
    outcome.kind === "replayed" ? { "Idempotency-Replayed": "true" } : {};
  if (outcome.operation === "delete") return toResponse(context, 200, content, headers);
  headers.ETag = toEtag(versionParts(outcome, outcome.revision), resource, format.name);
  if (outcome.operation === "update") return toResponse(context, 200, content, headers);
  headers.Location = [basePath, resource.path, "/", outcome.id, ".", format.name];
  return toResponse(context, 201, content, headers);
}
