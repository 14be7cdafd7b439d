// Requests to a server of the benchmark, one after the other, with their durations.

import type { Measured } from "../process.ts";
import { median } from "../statistics.ts";

/** Maximum milliseconds for the repetitions of one request; each is repeated at least twice. */
const maxMs = 2000;

/** Header fields for the first site. */
export function headersFor(key: string): Record<string, string> {
  return { Host: "s1.test", "X-API-AUTH": key, "Accept-Encoding": "identity" };
}

/** How often a request is sent at most, and the milliseconds before it is sent again, if the database was too slow for it. */
const [maxAttempts, pauseMs] = [5, 1000];

/**
 * Sends a request, and sends it again after a 503: on a busy machine, PostgreSQL may take longer than a request waits for it.
 * @returns the milliseconds until the whole response was read
 * @throws Error if the status is not 2xx
 */
export async function timed(to: Measured, method: string, path: string, key: string, body?: object): Promise<number> {
  const init = { method, headers: headersFor(key), ...(body ? { body: JSON.stringify(body) } : {}) };
  for (let attempt = 1; ; attempt++) {
    const started = performance.now();
    const response = await fetch(to.url + path, init);
    await response.arrayBuffer();
    if (response.ok) return performance.now() - started;
    const problem = `${method} ${path}: ${response.status}`;
    if (response.status !== 503 || attempt === maxAttempts) throw new Error(problem);
    console.error(problem);
    await Bun.sleep(pauseMs);
  }
}

/** Measures several times. @param times maximum number of measurements @returns a cell with the median and the longest, in milliseconds */
export async function repeat(times: number, measure: () => Promise<number>): Promise<string> {
  const all: number[] = [];
  const deadline = performance.now() + maxMs;
  while (all.length < 2 || (all.length < times && performance.now() < deadline)) all.push(await measure());
  return `${toMs(median(all))} / ${toMs(Math.max(...all))}`;
}

/** Formats milliseconds, with fewer decimals if there are many. */
export function toMs(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 10 ? 2 : milliseconds < 100 ? 1 : 0);
}
