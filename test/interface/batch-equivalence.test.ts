// With `atomic=0`, a batch has the same results and leaves the same records as its operations sent one by one (contract section 14).

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type BatchOperation, sendBatch } from "../support/http/batch.ts";
import { startTestServer, type TestServer } from "../support/http/server.ts";

const name = fc.constantFrom("Acme", "Beta", "", " padded ", "ä€😀", "x".repeat(300), "\u0001");
const record = fc.record(
  {
    Name: fc.oneof(name, name, fc.constantFrom<unknown>(5, null, {}, [])),
    AccountNumber: name,
    Address: fc.oneof(fc.record({ Town: name, Nowhere: name }, { requiredKeys: [] }), fc.constant("x")),
    Nam: name,
  },
  { requiredKeys: [] },
);
const id = fc.integer({ min: 1, max: 12 });
const ifMatch = fc.constantFrom("*", '"abc.1.5d8c12ab-json"', 'W/"abc.1.5d8c12ab-json"', "x");
const Resource = "brands";
const operation: fc.Arbitrary<BatchOperation> = fc.oneof(
  fc.record({ Method: fc.constant("POST"), Resource: fc.constant(Resource), Record: record }),
  fc.record(
    {
      Method: fc.constantFrom("PUT", "PATCH"),
      Resource: fc.constant(Resource),
      ID: id,
      IfMatch: ifMatch,
      Record: fc.oneof(
        record,
        fc.tuple(record, id).map(([fields, ID]) => ({ ID, ...fields })),
      ),
    },
    { requiredKeys: ["Method", "Resource", "ID", "Record"] },
  ),
  fc.record(
    { Method: fc.constant("DELETE"), Resource: fc.constant(Resource), ID: id, IfMatch: ifMatch },
    { requiredKeys: ["Method", "Resource", "ID"] },
  ),
);

interface Result {
  readonly status: number;
  readonly record?: unknown;
  readonly code?: string;
  readonly errors?: unknown;
}

describe("a batch with atomic=0", () => {
  let batches: TestServer;
  let singles: TestServer;
  beforeAll(async () => {
    [batches, singles] = await Promise.all([startTestServer(), startTestServer()]);
  });
  afterAll(async () => {
    await Promise.all([batches.stop(), singles.stop()]);
  });

  const toResult = (status: number, json: Record<string, unknown>): Result =>
    status < 300 ? { status, record: json } : { status, code: String(json.type), errors: json.errors };

  async function sendAlone({ Method, ID, IfMatch, Record }: BatchOperation): Promise<Result> {
    const path = `/restapi/brands${Method === "POST" ? "" : `/${ID}`}.json`;
    const { status, json } = await singles.call(Method, path, {
      ...(Record === undefined ? {} : { body: Record }),
      headers: IfMatch === undefined ? {} : { "If-Match": String(IfMatch) },
    });
    return toResult(status, json);
  }

  const list = async (server: TestServer) => (await server.call("GET", "/restapi/brands.json")).json;

  test("has the same effect as its operations sent one by one", async () => {
    const property = fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 12 }), async (operations) => {
      const { json } = await sendBatch(batches, operations, { query: "atomic=0" });
      const created = new Set<unknown>();
      for (const [index, one] of operations.entries()) {
        const { Status, Record, Problem } = json.Results[index];
        const result = toResult(Status, Status < 300 ? Record : Problem);
        // The one difference: a batch can't name a record that it creates.
        if (created.has(one.ID)) expect(Status).toBeGreaterThanOrEqual(400);
        else expect([one, result]).toEqual([one, await sendAlone(one)]);
        if (Status === 201) created.add(Record.ID);
      }
      expect(await list(batches)).toEqual(await list(singles));
    });
    await fc.assert(property, { numRuns: 60 });
  });
});
