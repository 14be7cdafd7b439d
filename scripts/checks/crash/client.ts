// A client that writes brands one after another, and remembers what was acknowledged when.

import { Expected, replaceName, type Step } from "./expected.ts";
import type { Lab } from "./lab.ts";

/** A create with an idempotency key, which can be sent again after a power loss. */
export interface IdempotentCreate {
  readonly name: string;
  readonly idempotencyKey: string;
  readonly sent: number;
}

/** Its brands' names all start with its own. */
export class Client {
  readonly expected: Expected;
  readonly idempotent: IdempotentCreate[] = [];
  /** Requests that weren't acknowledged. */
  failures: string[] = [];
  readonly #lab: Lab;
  readonly #key: string;
  readonly #name: string;

  constructor(lab: Lab, key: string, name: string) {
    this.#lab = lab;
    this.#key = key;
    this.#name = name;
    this.expected = new Expected(`${name}'s records`);
  }

  /** Picks this client's names. */
  own(names: readonly string[]): string[] {
    return names.filter((name) => name.startsWith(`${this.#name} `));
  }

  /** Creates, updates and deletes brands, with five requests per round. Stops at the first request without a response. */
  async write(url: string, rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      const name = `${this.#name} ${round}`;
      const id = await this.create(url, name);
      const updated = `${name} updated ${"x".repeat(100)}`;
      await this.#send(url, "PUT", `brands/${id}.json`, replaceName(name, updated), { Name: updated });
      await this.create(url, `${name} twice`, `${name}-key`);
      await this.create(url, `${name} twice`, `${name}-key`);
      if (round % 2 === 1) await this.#send(url, "DELETE", `brands/${id}.json`, replaceName(updated, undefined));
    }
  }

  /** Creates a brand. Returns its ID; undefined if that wasn't acknowledged. */
  async create(url: string, name: string, idempotencyKey?: string): Promise<number | undefined> {
    const isRepeat = this.idempotent.some((one) => one.idempotencyKey === idempotencyKey);
    if (idempotencyKey) this.idempotent.push({ name, idempotencyKey, sent: this.#lab.position });
    const once: Step["change"] = (names) => (names.includes(name) ? names : [...names, name]);
    const change = isRepeat ? once : replaceName(undefined, name);
    return (await this.#send(url, "POST", "brands.json", change, { Name: name }, idempotencyKey))?.ID;
  }

  async #send(
    url: string,
    method: string,
    path: string,
    change: Step["change"],
    body?: unknown,
    idempotencyKey?: string,
  ): Promise<{ readonly ID?: number } | undefined> {
    const sent = this.#lab.position;
    const response = await request(url, this.#key, method, path, body, idempotencyKey).catch((error) => String(error));
    const isDone = typeof response !== "string" && response.status < 300;
    // Read the position first, because what's written after the response mustn't count as written before it.
    const acknowledged = isDone ? this.#lab.position : undefined;
    this.expected.add({ sent, acknowledged, change });
    if (typeof response === "string") {
      this.failures.push(response);
      throw new NoResponseError(response);
    }
    const text = await response.text();
    if (!isDone) this.failures.push(`${response.status} ${text}`);
    return isDone && text ? JSON.parse(text) : undefined;
  }
}

/** The server has exited. */
export class NoResponseError extends Error {}

export function request(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  idempotencyKey?: string,
): Promise<Response> {
  return fetch(`${url}/restapi/${path}`, {
    method,
    headers: { "X-API-AUTH": key, ...(idempotencyKey && { "Idempotency-Key": idempotencyKey }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
}
