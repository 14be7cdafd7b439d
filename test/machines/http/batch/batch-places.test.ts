// Places for batch requests: four per process, three per site, two per key. Each comes back however its request ends.

import { expect, test } from "bun:test";
import { BatchPlaces, readBatchBody } from "../../../../src/http/batch/batch-places.ts";
import { ProblemError } from "../../../../src/model/errors.ts";
import type { ApiKey } from "../../../../src/system/system-records.ts";
import type { WireRequest } from "../../../../src/wire/request.ts";

/** A key. Each has a site of its own, but keys from 100 on have the same site. */
const keyOf = (id: number) => ({ id, siteId: Math.min(id, 100), prefix: `sfk_key${id}` }) as ApiKey;

/** Takes a place of a key. Returns functions that end its request, with a response or an error. */
function take(places: BatchPlaces, key: number) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  return { response: places.withPlace(keyOf(key), () => promise), respond: () => resolve("made"), fail: reject };
}

async function problemOf(places: BatchPlaces, key: number): Promise<unknown> {
  const error = await places.withPlace(keyOf(key), async () => "made").catch((thrown) => thrown);
  if (!(error instanceof ProblemError)) return error;
  return [error.code, error.message, error.retryAfterSeconds];
}

test("batch places: four per process, two per key", async () => {
  const places = new BatchPlaces();
  const requests = [take(places, 1), take(places, 1)];
  const ofKey = "the API key sfk_key1... already has 2 batches in progress; try again when one is done";
  expect(await problemOf(places, 1)).toEqual(["too-many-requests", ofKey, 1]);
  requests.push(take(places, 2), take(places, 3));
  const ofProcess = "this server already has 4 batches in progress; try again when one is done";
  expect(await problemOf(places, 4)).toEqual(["too-many-requests", ofProcess, 1]);
  requests[0]?.respond();
  expect(await requests[0]?.response).toBe("made");
  expect(await problemOf(places, 1)).toBe("made");
  for (const { respond } of requests) respond();
});

test("batch places: three per site, so one is left for others", async () => {
  const places = new BatchPlaces();
  const requests = [take(places, 100), take(places, 100), take(places, 101)];
  const ofSite = "this site already has 3 batches in progress; try again when one is done";
  expect(await problemOf(places, 101)).toEqual(["too-many-requests", ofSite, 1]);
  expect(await problemOf(places, 1)).toBe("made");
  requests[0]?.respond();
  await requests[0]?.response;
  expect(await problemOf(places, 102)).toBe("made");
  for (const { respond } of requests) respond();
});

test("batch places: come back when a request fails", async () => {
  const places = new BatchPlaces();
  for (let round = 0; round < 10; round++) {
    const { response, fail } = take(places, 1);
    fail(new Error("the client disconnected"));
    expect(await response.catch(({ message }) => message)).toBe("the client disconnected");
    const thrown = places.withPlace(keyOf(1), () => {
      throw new Error("at once");
    });
    expect(await thrown.catch(({ message }) => message)).toBe("at once");
  }
  expect(await problemOf(places, 1)).toBe("made");
});

test("batch body: up to 8 MiB, within 120 s", async () => {
  const limits: unknown[] = [];
  const request = { readBody: async (...sent: unknown[]) => void limits.push(...sent) } as unknown as WireRequest;
  await readBatchBody(request);
  expect(limits).toEqual([8 * 2 ** 20, 120]);
});
