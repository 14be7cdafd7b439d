import type { Request } from "../load.ts";
import type { Measured } from "../process.ts";
import type { sampleBrand } from "../scenarios.ts";

export type Brand = ReturnType<typeof sampleBrand>;
export type BrandWithId = Brand & { readonly ID: number };

/** A request, and how to read its response, parsed as JSON. */
export interface Operation<Result> {
  readonly request: Request;
  // biome-ignore lint/suspicious/noExplicitAny: each server has its own format
  read(received: any): Result;
}

/** The operations to compare, on a server that has the sample brands with IDs from 1. */
export interface Api {
  lookUp(id: number): Operation<Brand>;
  readonly list: Operation<Brand[]>;
  /** Returns the ID of the new brand. `[<id>]` in the body is replaced by a different number in each request. */
  readonly create: Operation<number>;
  /** Renames the brand with the ID 7. */
  readonly update: Operation<unknown>;
}

/** An alternative to this server. */
export interface Peer {
  /** With its version. */
  readonly name: string;
  /** The packages to install, by name, with exact versions. */
  readonly packages: Readonly<Record<string, string>>;
  /** The packages, dependencies included, that must be compiled. */
  readonly builds?: readonly string[];
  /** As `overrides` in a package.json. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** How it stores a brand, and what it does for a request. */
  readonly note: string;
  /** Starts it and stores the brands. */
  start(setup: Setup): Promise<Running>;
}

export interface Setup {
  /** The folder of the packages; also for its data. */
  readonly folder: string;
  /** The environment to run it in, with Node in its PATH. */
  readonly env: Readonly<Record<string, string>>;
  readonly brands: readonly BrandWithId[];
}

export interface Running {
  readonly server: Measured;
  readonly api: Api;
}

/** The fields of a brand, without any others. */
// biome-ignore lint/suspicious/noExplicitAny: each server has its own format
export function toBrand({ Name, AccountNumber, Telephone, Address }: any): Brand {
  return { Name, AccountNumber, Telephone, Address };
}

/** A JSON request. */
export function toRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Request {
  const plain = { ...headers, "Accept-Encoding": "identity" };
  if (body === undefined) return { method, path, headers: plain };
  return { method, path, headers: { ...plain, "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

/**
 * Sends the request once and reads the response.
 * @throws with the response if it is an error or cannot be read
 */
export async function perform<Result>(server: Measured, { request, read }: Operation<Result>): Promise<Result> {
  const { method, path, headers, body } = request;
  const init = { method, headers, ...(body === undefined ? {} : { body: body.replace("[<id>]", "0") }) };
  const response = await fetch(server.url + path, init);
  const text = await response.text();
  try {
    if (response.ok) return read(JSON.parse(text));
  } catch {
    // The error below has the response.
  }
  throw new Error(`${server.name} responds to ${method} ${path} with ${response.status}: ${text.slice(0, 300)}`);
}
