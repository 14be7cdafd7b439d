import type { Request } from "../load.ts";
import type { Measured } from "../process.ts";
import type { sampleBrand } from "../scenarios.ts";

export type Brand = ReturnType<typeof sampleBrand>;
export type BrandWithId = Brand & { readonly ID: number };

/** A request, and a function that reads its response after it was parsed as JSON. */
export interface Operation<Result> {
  readonly request: Request;
  // biome-ignore lint/suspicious/noExplicitAny: each server has its own format
  read(received: any): Result;
}

/** The operations to compare. The server has the sample brands, with IDs from 1. */
export interface Api {
  lookUp(id: number): Operation<Brand>;
  readonly list: Operation<Brand[]>;
  /** Creates a brand. Its result is the ID of the new brand. */
  readonly create: Operation<number>;
  /** Renames the brand with the ID 7. In each request, `[<id>]` in the body is replaced by a different number. */
  readonly update: Operation<unknown>;
}

/** An alternative to this server. */
export interface Peer {
  /** The name, with the version. */
  readonly name: string;
  /** The packages to install, by name, with exact versions. */
  readonly packages: Readonly<Record<string, string>>;
  /** Names of the packages that must be compiled, including dependencies. */
  readonly builds?: readonly string[];
  /** The `overrides` of the package.json. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** A text for the report: the form in which the peer stores a brand, and its work for a request. */
  readonly note: string;
  /** Starts the peer, and stores the brands in it. */
  start(setup: Setup): Promise<Running>;
}

export interface Setup {
  /** The folder with the packages of the peer. The peer stores its data there too. */
  readonly folder: string;
  /** The environment of the peer, with Node in its PATH. */
  readonly env: Readonly<Record<string, string>>;
  readonly brands: readonly BrandWithId[];
}

export interface Running {
  readonly server: Measured;
  readonly api: Api;
}

/** Returns only the fields of a brand. */
// biome-ignore lint/suspicious/noExplicitAny: each server has its own format
export function toBrand({ Name, AccountNumber, Telephone, Address }: any): Brand {
  return { Name, AccountNumber, Telephone, Address };
}

/** Creates a request with a JSON body, or without a body. */
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
 * Sends the request once, and reads the response.
 * @throws Error with the response if its status is an error, or if it cannot be read
 */
export async function perform<Result>(server: Measured, { request, read }: Operation<Result>): Promise<Result> {
  const { method, path, headers, body } = request;
  const init = { method, headers, ...(body === undefined ? {} : { body: body.replace("[<id>]", "0") }) };
  const response = await fetch(server.url + path, init);
  const text = await response.text();
  try {
    if (response.ok) return read(JSON.parse(text));
  } catch {
    // The error below contains the response.
  }
  throw new Error(`${server.name} responds to ${method} ${path} with ${response.status}: ${text.slice(0, 300)}`);
}
