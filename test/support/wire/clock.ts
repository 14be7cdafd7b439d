// The fake clock of a test that controls the timeouts of a listener.

import { jest } from "bun:test";
import { openClient, toRequest } from "./client.ts";

/** Waits until everything that was sent has arrived: an exchange on another connection ends after it. @param port of a listener of this process */
export async function waitForArrival(port: number): Promise<void> {
  const client = await openClient(port);
  for (let count = 1; count <= 2; count++) {
    client.send(toRequest("GET / HTTP/1.1"));
    await client.responses(count);
  }
  client.socket.destroy();
}

/** Waits until everything that was sent has arrived, and then advances the fake clock by `seconds`. @param port as for `waitForArrival` */
export async function advanceClockAfterArrival(port: number, seconds: number): Promise<void> {
  await waitForArrival(port);
  for (let second = 0; second < seconds; second++) {
    jest.advanceTimersByTime(1000);
    await waitForArrival(port);
  }
}
