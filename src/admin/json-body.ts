// The body of a request, a JSON object, and its members.

import { Refusal } from "../model/errors.ts";
import type { WireRequest } from "../wire/request.ts";

/**
 * The body of a request, a JSON object.
 * @param maxBytes if less than the listener reads of every body
 * @throws Refusal `bad-request` or `unsupported-media-type`, RequestError
 */
export async function readJsonObject(request: WireRequest, maxBytes?: number): Promise<object> {
  const value = await readJson(request, maxBytes);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new Refusal("bad-request", "the body must be a JSON object");
}

async function readJson(request: WireRequest, maxBytes?: number): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  // A form of another site cannot send this type without a preflight, which this listener refuses.
  if (type !== "application/json") throw new Refusal("unsupported-media-type", "send the body as application/json");
  const { view } = await request.body(maxBytes);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(view));
  } catch (error) {
    throw new Refusal("bad-request", "the body is not JSON", { cause: error });
  }
}

/** A member that must be a text. @throws Refusal `bad-request` */
export function readText(input: unknown, name: string): string {
  const value = Object(input)[name];
  if (typeof value === "string") return value;
  throw new Refusal("bad-request", `\`${name}\` must be a string`);
}

/** A text; undefined when it is absent. @throws Refusal `bad-request` */
export function readOptionalText(input: unknown, name: string): string | undefined {
  return Object(input)[name] === undefined ? undefined : readText(input, name);
}

/** Texts of a list at most. */
const maxTexts = 1000;

/** A list of texts; undefined when it is absent. @throws Refusal `bad-request` */
export function readTexts(input: unknown, name: string): readonly string[] | undefined {
  const value = Object(input)[name];
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.length <= maxTexts && value.every((item) => typeof item === "string")) return value;
  throw new Refusal("bad-request", `\`${name}\` must be a list of at most ${maxTexts} strings`);
}

/** True or false; undefined when it is absent. @throws Refusal `bad-request` */
export function readBoolean(input: unknown, name: string): boolean | undefined {
  const value = Object(input)[name];
  if (value === undefined || typeof value === "boolean") return value;
  throw new Refusal("bad-request", `\`${name}\` must be true or false`);
}

// Bodies of requests that have not arrived yet. Each holds a connection of the few that the listener has.

/** Of one operator: more than a browser opens connections to a server. */
const maxOfOperator = 8;

/** How many bodies of each operator are awaited. */
export class ArrivingBodies {
  readonly #counts = new Map<number, number>();

  /** Waits for the body of a request of an operator. @throws Refusal `too-many-requests`, RequestError */
  async await(operator: number, request: WireRequest): Promise<void> {
    const body = request.body();
    if (!(body instanceof Promise)) return;
    const count = this.#counts.get(operator) ?? 0;
    if (count >= maxOfOperator) {
      // The response drops it, so nobody else learns how it ends.
      body.catch(() => {});
      const detail = `${count} requests of this operator are being sent already; try again when they have arrived`;
      throw new Refusal("too-many-requests", detail, { retryAfter: 5 });
    }
    this.#counts.set(operator, count + 1);
    try {
      await body;
    } finally {
      this.#leave(operator);
    }
  }

  #leave(operator: number): void {
    const left = (this.#counts.get(operator) ?? 1) - 1;
    if (left > 0) this.#counts.set(operator, left);
    else this.#counts.delete(operator);
  }
}

// Requests to sign in that have not arrived yet. Each holds a connection of the few that the listener has, and their clients are unknown.

/** Milliseconds in which a request to sign in must arrive. */
const maxWait = 1000;

/** How many are awaited at once. One that comes with its body, as nearly all do, is not awaited for longer than others take to come. */
const maxAwaited = 16;

/** Waits for the bodies of requests to sign in, but never for long. */
export class SignInBodies {
  /** Ends the wait for each, the longest awaited first. */
  readonly #ends = new Set<() => void>();

  /**
   * Waits for a body until it is late: after a second, or when too many others are awaited.
   * @throws Refusal `request-timeout`, or what `body` rejects with
   */
  async inTime<T>(body: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const end = () => {
      this.#ends.delete(end);
      reject(new Refusal("request-timeout", "the request did not arrive in time"));
    };
    const timer = setTimeout(end, maxWait);
    this.#ends.add(end);
    const [longest] = this.#ends;
    if (this.#ends.size > maxAwaited) longest?.();
    try {
      return await Promise.race([body, promise]);
    } finally {
      clearTimeout(timer);
      this.#ends.delete(end);
    }
  }
}
