// Requests to a server of the benchmark, one after the other, with their durations.

import type { Measured } from "../process.ts";
import { median } from "../statistics.ts";

/** Maximum milliseconds for the repetitions of one request; each is repeated at least twice. */
const maxMs = 2000;

/** Header fields for the first site. */
export function headersFor(key: string): Record<string, string> {
  return { Host: "s1.test", "X-API-AUTH": key, "Accept-Encoding": "identity" };
}

/** Sends a request. @returns the milliseconds until the whole response was read @throws Error if the status is not 2xx */
export async function timed(to: Measured, method: string, path: string, key: string, body?: object): Promise<number> {
  const started = performance.now();
  const init = { method, headers: headersFor(key), ...(body ? { body: JSON.stringify(body) } : {}) };
  const response = await fetch(to.url + path, init);
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
  return performance.now() - started;
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
