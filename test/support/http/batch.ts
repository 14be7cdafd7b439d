// Batch requests in tests.

import type { CallOptions, TestResponse, TestServer } from "./server.ts";

/** An operation of a batch request in JSON. */
export interface BatchOperation {
  readonly Method: string;
  readonly Resource: string;
  readonly ID?: unknown;
  readonly IfMatch?: unknown;
  readonly Record?: unknown;
}

export const toCreate = (Record: object, Resource = "brands"): BatchOperation => ({ Method: "POST", Resource, Record });

export const toUpdate = (ID: number, Record: object, IfMatch?: string): BatchOperation => ({
  Method: "PUT",
  Resource: "brands",
  ID,
  ...(IfMatch === undefined ? {} : { IfMatch }),
  Record,
});

/** An update of the record that has to be found by `match`. */
export const toUpsert = (Record: object, IfMatch?: string): BatchOperation => ({
  Method: "PUT",
  Resource: "brands",
  ...(IfMatch === undefined ? {} : { IfMatch }),
  Record,
});

export const toDelete = (ID: number, IfMatch?: string): BatchOperation => ({
  Method: "DELETE",
  Resource: "brands",
  ID,
  ...(IfMatch === undefined ? {} : { IfMatch }),
});

/** Sends a batch request in JSON. @param query without the question mark */
export function sendBatch(
  server: Pick<TestServer, "call">,
  operations: readonly BatchOperation[],
  { query = "", ...options }: CallOptions & { readonly query?: string } = {},
): Promise<TestResponse> {
  const path = `/restapi/batch.json${query && `?${query}`}`;
  return server.call("POST", path, { ...options, body: { Operations: operations } });
}

/** Returns the number of each faulty operation with the field and the detail of its error. */
export function faultsIn({ json }: TestResponse): [operation: number, field: string, detail: string][] {
  return (json.errors ?? []).map(({ operation, field, detail }: Record<string, never>) => [operation, field, detail]);
}

/** Returns the status of each result. */
export function statusesIn({ json }: TestResponse): number[] {
  return json.Results.map(({ Status }: { Status: number }) => Status);
}
