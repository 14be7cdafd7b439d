// Handlers can ask whether a request's client is still connected.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Listener } from "../../src/wire/listen.ts";
import type { WireRequest } from "../../src/wire/request.ts";
import { ticks, waitUntil } from "../support/time.ts";
import { openClient, toRequest, type WireClient } from "../support/wire/client.ts";
import { startListener, text } from "../support/wire/listener.ts";

let listener: Listener;
let arrived: Promise<WireRequest>;
let respond: () => void;

beforeEach(() => {
  const [seen, released] = [Promise.withResolvers<WireRequest>(), Promise.withResolvers<void>()];
  [arrived, respond] = [seen.promise, released.resolve];
  listener = startListener((request) => {
    seen.resolve(request);
    return released.promise.then(() => text("here"));
  });
});
afterEach(() => listener.stop(0));

async function ask(): Promise<[WireClient, WireRequest]> {
  const client = await openClient(listener.port);
  client.send(toRequest("GET / HTTP/1.1", ["Host: x"]));
  return [client, await arrived];
}

test("abandoned request: connection reset", async () => {
  const [client, request] = await ask();
  expect(request.isAbandoned).toBe(false);
  client.socket.resetAndDestroy();
  await waitUntil(() => request.isAbandoned, "the reset");
});

test("abandoned request: not if the client only closes its own side", async () => {
  const [client, request] = await ask();
  const ended = new Promise<void>((resolve) => request.onClientEnd(resolve));
  client.socket.end();
  await ended;
  await ticks(2);
  expect(request.isAbandoned).toBe(false);
  respond();
  expect(await client.responses(1)).toEqual([expect.objectContaining({ status: 200, body: "here" })]);
});
