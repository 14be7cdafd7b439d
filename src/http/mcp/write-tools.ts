// The tools that write. Without `confirm`, they do a dry run. With it, they store exactly what the dry run showed, or nothing.

import type { SentOperation } from "../../formats/batch-operation.ts";
import { json } from "../../formats/json.ts";
import { yieldToEventLoop } from "../../lib/yielding.ts";
import { isJsonObject } from "../../model/field.ts";
import { type KeyRights, writeRight } from "../../model/key-rights.ts";
import { publicResources, type Resource, writtenResources } from "../../model/resource.ts";
import { sizeOfRun } from "../../store/writes/undo-plan.ts";
import type { RequestAuthorizer } from "../authorization/authorizer.ts";
import { whileAuthorized } from "../authorization/while-authorized.ts";
import {
  type BatchParts,
  type BatchResults,
  decodeOperations,
  encodeResults,
  parseMatch,
  storeBatch,
} from "../batch/batch.ts";
import type { BatchPlaces } from "../batch/batch-places.ts";
import { requireOperationRights } from "../batch/operation-problems.ts";
import { type UndoParts, type UndoResult, undoRun } from "../batch/undo.ts";
import type { AuthorizedView } from "../request-context.ts";
import {
  type Confirmed,
  digestOf,
  type Effect,
  type Planned,
  type RunOptions,
  runConfirmed,
  withConfirmation,
} from "./confirmation.ts";
import { withoutNulls } from "./tool-arguments.ts";
import { batchTool, undoTool } from "./tool-schemas.ts";
import type { Tool, ToolCall, ToolResult } from "./tools.ts";

export interface WriteToolDependencies extends BatchParts, UndoParts {
  readonly authorizer: RequestAuthorizer;
  readonly batchPlaces: BatchPlaces;
}

/** Returns the tools that a key with these rights can use, for the resources it can write. */
export function createWriteTools(dependencies: WriteToolDependencies, rights: KeyRights): readonly Tool[] {
  const resources = writtenResources(dependencies.resources).filter((one) => rights.allows(writeRight(one)));
  if (resources.length === 0) return [];
  const writing = new Writing(dependencies);
  return [
    { definition: batchTool(resources), call: (call) => writing.batch(call) },
    { definition: undoTool, call: (call) => writing.undo(call) },
  ];
}

class Writing {
  readonly #dependencies: WriteToolDependencies;
  readonly #served: readonly Resource[];

  constructor(dependencies: WriteToolDependencies) {
    this.#dependencies = dependencies;
    this.#served = publicResources(dependencies.resources);
  }

  batch(call: ToolCall): Promise<ToolResult> {
    const { context, authorized, sent } = call;
    const list = sent.operations as readonly unknown[];
    return this.#dependencies.batchPlaces.withPlace(authorized.key, async () => {
      const match = parseMatch(writtenResources(this.#served), sent.match as string | undefined);
      this.#dependencies.authorizer.countOperations(context, authorized.key, list.length);
      const operations = await this.#decode(list, match);
      requireOperationRights(context, authorized.key, operations);
      const done = await this.#runConfirmed<BatchResults>(call, argumentsOf(match, operations), (current, how) =>
        storeBatch(this.#dependencies, context, current, { operations, match, allOrNothing: true, ...how }),
      );
      const parts = await encodeResults(context, json, operations, done.result);
      return toResult(Buffer.concat(parts).toString(), done, effectOf(done.result));
    });
  }

  /** Counts as a batch of the run's size. */
  undo(call: ToolCall): Promise<ToolResult> {
    const { context, authorized, sent } = call;
    const run = String(sent.run);
    return this.#dependencies.batchPlaces.withPlace(authorized.key, async () => {
      this.#dependencies.authorizer.countOperations(context, authorized.key, sizeOfRun(run));
      const done = await this.#runConfirmed<UndoResult>(call, ["undo", run], (current, how) =>
        undoRun(this.#dependencies, context, current, { run, ...how }),
      );
      const { undone } = done.result;
      return toResult(json.batch.undone(undone), done, { delete: undone.deleted, restore: undone.restored });
    });
  }

  /** @throws ProblemError as `decodeOperations` */
  async #decode(list: readonly unknown[], match: string | undefined): Promise<readonly SentOperation[]> {
    const operations: SentOperation[] = [];
    // Parsing the message was one step, and this is another.
    await yieldToEventLoop();
    // Like arguments, members that are null count as absent. Fields of a record don't.
    const Operations = list.map((operation) => (isJsonObject(operation) ? withoutNulls(operation) : operation));
    const body = Buffer.from(JSON.stringify({ Operations }));
    await decodeOperations(json, body, this.#served, match, operations);
    return operations;
  }

  /** Authorizes the request again, then runs `run` as a dry run, or for real if that was confirmed. @param requested as for `digestOf` */
  async #runConfirmed<Result extends Planned>(
    { context, sent }: ToolCall,
    requested: Iterable<unknown>,
    run: (authorized: AuthorizedView, how: RunOptions<Result>) => Promise<Result>,
  ): Promise<Confirmed<Result>> {
    const { authorizer } = this.#dependencies;
    const digest = await digestOf(requested);
    return authorizer.reauthorize(context, (first) =>
      whileAuthorized(authorizer, context, first, {
        work: (authorized) =>
          runConfirmed(authorized, {
            requested: digest,
            sent: sent.confirm as string | undefined,
            run: (how) => run(authorized, how),
          }),
        isStored: ({ confirmation }) => confirmation === undefined,
      }),
    );
  }
}

function toResult(text: string, done: Confirmed<unknown>, effect: Effect): ToolResult {
  return {
    json: withConfirmation(text, done, effect),
    isError: done.isChanged,
    isStored: done.confirmation === undefined,
  };
}

/** Counts the operations that change a record. */
function effectOf({ results }: BatchResults): Effect {
  const effect = { create: 0, update: 0, delete: 0 };
  for (const result of results)
    if ("outcome" in result && result.outcome.kind !== "unchanged") effect[result.outcome.operation]++;
  return effect;
}

/** Yields the tool's name and arguments for their digest. Equal operations yield equal values. */
function* argumentsOf(match: string | undefined, operations: readonly SentOperation[]): Generator<unknown> {
  yield "batch";
  yield match;
  for (const { method, resource, id, ifMatch, record } of operations)
    yield [method, resource.name, id, ifMatch, record?.input];
}
