import type { Request } from "../load.ts";
import type { Measured } from "../process.ts";
import type { sampleBrand } from "../scenarios.ts";

export type Brand = ReturnType<typeof sampleBrand>;
export type BrandWithId = Brand & { readonly ID: number };

/** A request, and a function that reads its parsed JSON response. */
export interface Operation<Result> {
  readonly request: Request;
  // biome-ignore lint/suspicious/noExplicitAny: each server has its own format
  read(received: any): Result;
}

/** The operations to compare, on a server with the sample brands. */
export interface Api {
  lookUp(id: number): Operation<Brand>;
  readonly list: Operation<Brand[]>;
  /** Creates a brand. The result is its ID. */
  readonly create: Operation<number>;
  /** Renames brand 7. `[<id>]` in the body is replaced by a different number in each request. */
  readonly update: Operation<unknown>;
}

/** An alternative to this server. */
export interface Peer {
  /** Includes the version. */
  readonly name: string;
  /** Packages to install, with exact versions. */
  readonly packages: Readonly<Record<string, string>>;
  /** Packages and dependencies that have to be compiled. */
  readonly builds?: readonly string[];
  /** `overrides` for package.json. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** For the report: how the peer stores a brand, and what it does for a request. */
  readonly note: string;
  /** Starts the peer and stores the brands in it. */
  start(setup: Setup): Promise<Running>;
}

export interface Setup {
  /** Has the peer's packages; it stores its data here too. */
  readonly folder: string;
  /** Has Node in its PATH. */
  readonly env: Readonly<Record<string, string>>;
  readonly brands: readonly BrandWithId[];
}

export interface Running {
  readonly server: Measured;
  readonly api: Api;
}

/** Keeps only a brand's fields. */
// biome-ignore lint/suspicious/noExplicitAny: each server has its own format
export function toBrand({ Name, AccountNumber, Telephone, Address }: any): Brand {
  return { Name, AccountNumber, Telephone, Address };
}

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
 * @throws Error with the response if it's an error or can't be read
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
