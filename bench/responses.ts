// Records this server's responses, so that the bare servers can send the same.

import { writeFileSync } from "node:fs";
import type { Measured } from "./process.ts";
import type { Scenario } from "./scenarios.ts";

export interface Response {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** In base64. */
  readonly body: string;
}

/**
 * Sends each request once, and writes the responses to `file`. Returns the scenarios to measure, with their responses. If several have the same method and
 * path, a number is added to each query so that the bare servers can tell them apart.
 */
export async function recordResponses(
  url: string,
  scenarios: readonly Scenario[],
  file: string,
): Promise<Map<Scenario, Response>> {
  const responses = new Map<Scenario, Response>();
  for (const [index, scenario] of scenarios.entries()) {
    const { request } = scenario;
    const isAlone = scenarios.filter((other) => nameOf(other) === nameOf(scenario)).length === 1;
    const mark = isAlone ? "" : `${request.path.includes("?") ? "&" : "?"}_=${index}`;
    const marked = { ...scenario, request: { ...request, path: request.path + mark } };
    responses.set(marked, await send(url, marked));
  }
  const byPath = [...responses].map(([scenario, response]) => [nameOf(scenario), response]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(byPath)));
  return responses;
}

/** Returns the method and path, which the bare servers use to find a scenario's response. */
function nameOf({ request }: Scenario): string {
  return `${request.method} ${request.path}`;
}

/** Sends a scenario's request to a server. @throws Error if the status, headers or body differ from `expected` */
export async function checkSame(server: Measured, scenario: Scenario, expected: Response | undefined): Promise<void> {
  const theirs = await send(server.url, scenario);
  if (!Bun.deepEquals(theirs, expected)) throw new Error(`${server.name} responds to ${scenario.name} differently`);
}

async function send(url: string, { request }: Scenario): Promise<Response> {
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
