// Reads the body of a request, a JSON object, and its members; limits the bodies that are awaited.

import { ProblemError } from "../model/errors.ts";
import type { WireRequest } from "../wire/request.ts";

/** A body as it was received: the members that `T` has may be missing, and may have any value. */
export type ReceivedBody<T> = { readonly [Name in keyof T]?: unknown };

/**
 * Reads the body of a request, which must be a JSON object.
 * @param maxBytes the maximum length of the body, if smaller than that of the listener
 * @throws ProblemError `bad-request` or `unsupported-media-type`, RequestError
 */
export async function readJsonObject<T>(request: WireRequest, maxBytes?: number): Promise<ReceivedBody<T>> {
  const value = await readJson(request, maxBytes);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as ReceivedBody<T>;
  throw new ProblemError("bad-request", "the body must be a JSON object");
}

async function readJson(request: WireRequest, maxBytes?: number): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  // A form on a page of another origin cannot send this media type without a preflight request, which this listener rejects.
  if (type !== "application/json")
    throw new ProblemError("unsupported-media-type", "send the body as application/json");
  const { view } = await request.body(maxBytes);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(view));
  } catch (error) {
    throw new ProblemError("bad-request", "the body is not JSON", { cause: error });
  }
}

/** Returns a member that must be a string. @throws ProblemError `bad-request` */
export function parseText<T extends object>(input: T, name: keyof T & string): string {
  const value: unknown = input[name];
  if (typeof value === "string") return value;
  throw new ProblemError("bad-request", `\`${name}\` must be a string`);
}

/** Returns a member that may be a string; undefined if it is absent. @throws ProblemError `bad-request` for any other value */
export function parseOptionalText<T extends object>(input: T, name: keyof T & string): string | undefined {
  return input[name] === undefined ? undefined : parseText(input, name);
}

/** Maximum number of strings in a list. */
const maxTexts = 1000;

/** Returns a member that may be a list of strings; undefined if it is absent. @throws ProblemError `bad-request` for any other value */
export function parseTexts<T extends object>(input: T, name: keyof T & string): readonly string[] | undefined {
  const value: unknown = input[name];
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.length <= maxTexts && value.every((item) => typeof item === "string")) return value;
  throw new ProblemError("bad-request", `\`${name}\` must be a list of at most ${maxTexts} strings`);
}

/** Returns a member that may be true or false; undefined if it is absent. @throws ProblemError `bad-request` for any other value */
export function parseBoolean<T extends object>(input: T, name: keyof T & string): boolean | undefined {
  const value: unknown = input[name];
  if (value === undefined || typeof value === "boolean") return value;
  throw new ProblemError("bad-request", `\`${name}\` must be true or false`);
}

// Limits the bodies that have not arrived yet, because each uses one of the listener's few connections.

/** Maximum number of bodies of one operator that are awaited at once: more than the connections that a browser opens to a server. */
const maxOfOperator = 8;

/** Waits for the bodies of signed-in operators, a limited number at once for each operator. */
export class ArrivingBodies {
  readonly #counts = new Map<number, number>();

  /** Waits for the body of an operator's request. @param operator ID of the operator. @throws ProblemError `too-many-requests`, RequestError */
  async await(operator: number, request: WireRequest): Promise<void> {
    if (request.received) return;
    const body = request.body();
    const count = this.#counts.get(operator) ?? 0;
    if (count >= maxOfOperator) {
      // The response discards the body. Catch its error here, because nobody else awaits it.
      body.catch(() => {});
      const detail = `${count} requests of this operator are being sent already; try again when they have arrived`;
      throw new ProblemError("too-many-requests", detail, { retryAfterSeconds: 5 });
    }
    this.#counts.set(operator, count + 1);
    try {
      await body;
    } finally {
      this.#release(operator);
    }
  }

  #release(operator: number): void {
    const left = (this.#counts.get(operator) ?? 1) - 1;
    if (left > 0) this.#counts.set(operator, left);
    else this.#counts.delete(operator);
  }
}

// Limits the sign-in requests that have not arrived yet, because each uses one of the listener's few connections, and their clients are unknown.

/** Maximum milliseconds until the body of a sign-in request arrives. */
const maxBodyWaitMs = 1000;

/** Maximum number of bodies that are awaited at once. Nearly all sign-in requests arrive with their body, and so do not wait. */
const maxAwaited = 16;

/** Waits for the bodies of sign-in requests, for a short time. */
export class SignInBodies {
  /** Functions that end one wait, the longest wait first. */
  readonly #ends = new Set<() => void>();

  /**
   * Waits for a body for at most a second, and only until 16 newer bodies are awaited.
   * @throws ProblemError `request-timeout`, or the error of `body`
   */
  async withBodyTimeout<T>(body: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const end = () => {
      this.#ends.delete(end);
      reject(new ProblemError("request-timeout", "the request did not arrive in time"));
    };
    const timer = setTimeout(end, maxBodyWaitMs);
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
