// A fake clock, for tests that control a listener's timeouts.

import { jest } from "bun:test";
import { openClient, toRequest } from "./client.ts";

/** Waits until everything sent has arrived, because an exchange on another connection finishes after that. @param port of a listener in this process */
export async function waitForArrival(port: number): Promise<void> {
  const client = await openClient(port);
  for (let count = 1; count <= 2; count++) {
    client.send(toRequest("GET / HTTP/1.1"));
    await client.responses(count);
  }
  client.socket.destroy();
}

/** Waits until everything sent has arrived, then moves the fake clock forward. @param port as for `waitForArrival` */
export async function advanceClockAfterArrival(port: number, seconds: number): Promise<void> {
  await waitForArrival(port);
  for (let second = 0; second < seconds; second++) {
    jest.advanceTimersByTime(1000);
    await waitForArrival(port);
  }
}
