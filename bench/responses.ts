// What this server answers, kept for the bare servers to repeat.

import { writeFileSync } from "node:fs";
import type { Measured } from "./process.ts";
import type { Scenario } from "./scenarios.ts";

export interface Response {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** In base64. */
  readonly body: string;
}

/** Asks each scenario once and writes the answers to `file`. Scenarios on one path are told apart by a number in the query, so the ones to measure come back. */
export async function recordResponses(
  url: string,
  scenarios: readonly Scenario[],
  file: string,
): Promise<Map<Scenario, Response>> {
  const responses = new Map<Scenario, Response>();
  for (const [index, scenario] of scenarios.entries()) {
    const { request } = scenario;
    const mark = `${request.path.includes("?") ? "&" : "?"}_=${index}`;
    const marked = { ...scenario, request: { ...request, path: request.path + mark } };
    responses.set(marked, await ask(url, marked));
  }
  const byPath = [...responses].map(([{ request }, response]) => [`${request.method} ${request.path}`, response]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(byPath)));
  return responses;
}

/** @throws when a server does not answer with the same status, headers and bytes */
export async function checkSame(server: Measured, scenario: Scenario, expected: Response | undefined): Promise<void> {
  const theirs = await ask(server.url, scenario);
  if (!Bun.deepEquals(theirs, expected)) throw new Error(`${server.name} answers ${scenario.name} differently`);
}

async function ask(url: string, { request }: Scenario): Promise<Response> {
  const { method, path, headers, body } = request;
  const init = { method, headers, ...(body ? { body } : {}), decompress: false } as RequestInit;
  const response = await fetch(url + path, init);
  if (response.status >= 400) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  const {
    date: _,
    "content-length": __,
    connection: ___,
    "keep-alive": ____,
    ...others
  } = Object.fromEntries(response.headers);
  return {
    status: response.status,
    headers: others,
    body: Buffer.from(await response.arrayBuffer()).toString("base64"),
  };
}
