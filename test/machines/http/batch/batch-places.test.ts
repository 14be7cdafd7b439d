// The places of batch requests: four for a process, three for a site, two for a key. Each comes back, whatever ends its request.

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

test("a process has four places, and a key two of them", async () => {
  const places = new BatchPlaces();
  const requests = [take(places, 1), take(places, 1)];
  const ofKey = "2 batches with the API key sfk_key1... are being received or stored here; try again";
  expect(await problemOf(places, 1)).toEqual(["too-many-requests", ofKey, 1]);
  requests.push(take(places, 2), take(places, 3));
  const ofProcess = "4 batches are being received or stored here; try again";
  expect(await problemOf(places, 4)).toEqual(["too-many-requests", ofProcess, 1]);
  requests[0]?.respond();
  expect(await requests[0]?.response).toBe("made");
  expect(await problemOf(places, 1)).toBe("made");
  for (const { respond } of requests) respond();
});

test("the keys of a site have three places, and leave one to other sites", async () => {
  const places = new BatchPlaces();
  const requests = [take(places, 100), take(places, 100), take(places, 101)];
  const ofSite = "3 batches of this site are being received or stored here; try again";
  expect(await problemOf(places, 101)).toEqual(["too-many-requests", ofSite, 1]);
  expect(await problemOf(places, 1)).toBe("made");
  requests[0]?.respond();
  await requests[0]?.response;
  expect(await problemOf(places, 102)).toBe("made");
  for (const { respond } of requests) respond();
});

test("a place comes back when its request fails", async () => {
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

test("a batch body may have 8 MiB, and must arrive in 120 s", async () => {
  const limits: unknown[] = [];
  const request = { readBody: async (...sent: unknown[]) => void limits.push(...sent) } as unknown as WireRequest;
  await readBatchBody(request);
  expect(limits).toEqual([8 * 2 ** 20, 120]);
});
