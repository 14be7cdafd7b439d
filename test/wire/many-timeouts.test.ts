// Many clients time out at the same time.

import { expect, test } from "bun:test";
import { openClient } from "../support/wire/client.ts";
import { echo, startListener, text } from "../support/wire/listener.ts";

test("many clients that time out at once are ended in many ticks", async () => {
  let tick = 0;
  let isCounting = true;
  const ticks: number[] = [];
  // Each response takes longer than the kernel needs to free the buffers of a client that does not read.
  const respondToFailure = () => {
    ticks.push(tick);
    for (const end = performance.now() + 1; performance.now() < end; );
    return text("timeout", 408);
  };
  const listener = startListener(echo, { idleTimeoutSeconds: 1 }, { respondToFailure });
  const clients = await Promise.all(Array.from({ length: 30 }, () => openClient(listener.port)));
  for (const client of clients) client.send("GET /");
  const count = () => {
    tick++;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  const responses = await Promise.all(clients.map((client) => client.responses(1)));
  isCounting = false;
  for (const { socket } of clients) socket.destroy();
  await listener.stop(0);
  expect(responses.map(([response]) => response?.status)).toEqual(Array(30).fill(408));
  expect(new Set(ticks).size).toBeGreaterThan(10);
});
