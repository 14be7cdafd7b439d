// Many clients that time out at the same moment.

import { expect, test } from "bun:test";
import { openClient } from "../support/wire-client.ts";
import { echo, startListener, text } from "../support/wire-listener.ts";

test("many clients that time out at once end in many turns of the event loop", async () => {
  let turn = 0;
  let isCounting = true;
  const turns: number[] = [];
  // Each takes longer than the system does to free what it keeps for a client that does not read.
  const respondToUnreadable = () => {
    turns.push(turn);
    for (const end = performance.now() + 1; performance.now() < end; );
    return text("timeout", 408);
  };
  const listener = startListener(echo, { idleTimeoutSeconds: 1 }, { respondToUnreadable });
  const clients = await Promise.all(Array.from({ length: 30 }, () => openClient(listener.port)));
  for (const client of clients) client.send("GET /");
  const count = () => {
    turn++;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  const responses = await Promise.all(clients.map((client) => client.responses(1)));
  isCounting = false;
  for (const { socket } of clients) socket.destroy();
  await listener.stop(0);
  expect(responses.map(([response]) => response?.status)).toEqual(Array(30).fill(408));
  expect(new Set(turns).size).toBeGreaterThan(10);
});
