// Sends batch requests in tests.

import { json } from "../../../src/formats/json.ts";
import { type BatchRequest, type BatchResults, storeBatch } from "../../../src/http/batch/batch.ts";
import type { RequestContext } from "../../../src/http/request-context.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { allResources } from "../../../src/resources/all.ts";
import { WriteQueue } from "../../../src/store/writes/write-queue.ts";
import { toApiKey, toSite } from "../../../src/system/system-records.ts";
import { waitUntil } from "../time.ts";
import { openClient, toRequest } from "../wire/client.ts";
import type { CallOptions, TestResponse, TestServer } from "./server.ts";

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

/** An update whose record is found by `match`. */
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

/** @param query without the question mark */
export function sendBatch(
  server: Pick<TestServer, "call">,
  operations: readonly BatchOperation[],
  { query = "", ...options }: CallOptions & { readonly query?: string } = {},
): Promise<TestResponse> {
  const path = `/restapi/batch.json${query && `?${query}`}`;
  return server.call("POST", path, { ...options, body: { Operations: operations } });
}

/** Waits until both of the key's places are free, so that two batches at once may send their bodies. */
export async function waitForPlaces({ port, key }: Pick<TestServer, "port" | "key">): Promise<void> {
  const body = '{"Operations":[]}';
  const lines = ["Host: x", `X-API-AUTH: ${key}`, `Content-Length: ${body.length}`, "Expect: 100-continue"];
  await waitUntil(async () => {
    const clients = await Promise.all([1, 2].map(() => openClient(port)));
    for (const client of clients) client.send(toRequest("POST /restapi/batch.json HTTP/1.1", lines));
    const statuses = await Promise.all(clients.map(async (client) => (await client.responses(1))[0]?.status));
    for (const client of clients) client.send(body);
    await Promise.all(clients.map((client, index) => statuses[index] === 100 && client.responses(2)));
    for (const { socket } of clients) socket.destroy();
    return statuses.every((status) => status === 100);
  }, "the places");
}

/** Returns each failed operation's number with the field and detail of its error. */
export function faultsIn({ json }: TestResponse): [operation: number, field: string, detail: string][] {
  return (json.errors ?? []).map(({ operation, field, detail }: Record<string, never>) => [operation, field, detail]);
}

export function statusesIn({ json }: TestResponse): number[] {
  return json.Results.map(({ Status }: { Status: number }) => Status);
}

/** Returns a function that runs a batch on `engine`, in the process of `server` and with a new key. */
export async function createBatchRunner(server: TestServer, engine: Engine) {
  const { siteViews, site } = server;
  const key = toApiKey((await createKey(server.engine, site, {}, Date.now())).record);
  const writeQueue = new WriteQueue(engine, siteViews);
  return async (
    operations: readonly BatchOperation[],
    options: Partial<Omit<BatchRequest, "operations">> = {},
  ): Promise<BatchResults> => {
    const body = Buffer.from(JSON.stringify({ Operations: operations }));
    const sent = [...json.batch.operations(body, allResources)].filter((one) => one !== undefined && "record" in one);
    const siteView = await siteViews.getUpToDate(site.ID);
    const context = { site: toSite(site), request: { isAbandoned: false } } as RequestContext;
    return storeBatch(
      { engine, siteViews, writeQueue, now: Date.now },
      context,
      { key, siteView, systemHead: siteViews.systemHead },
      { match: undefined, allOrNothing: true, isDry: false, ...options, operations: sent },
    );
  };
}
