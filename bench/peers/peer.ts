import type { Request } from "../load.ts";
import type { Measured } from "../process.ts";
import type { sampleBrand } from "../scenarios.ts";

export type Brand = ReturnType<typeof sampleBrand>;
export type BrandWithId = Brand & { readonly ID: number };

/** What is sent, and how its answer, parsed as JSON, is read. */
export interface Operation<Result> {
  readonly request: Request;
  // biome-ignore lint/suspicious/noExplicitAny: each server answers in its own shape
  read(received: any): Result;
}

/** The operations that are compared, on a server that holds the sample brands under the IDs from 1 on. */
export interface Api {
  lookUp(id: number): Operation<Brand>;
  readonly list: Operation<Brand[]>;
  /** Gives the new brand's ID. `[<id>]` in the body is a different number each time. */
  readonly create: Operation<number>;
  /** Renames the brand with the ID 7. */
  readonly update: Operation<unknown>;
}

/** Something that users could pick in place of this server. */
export interface Peer {
  /** With its version. */
  readonly name: string;
  /** What is installed for it, by name, in exact versions. */
  readonly packages: Readonly<Record<string, string>>;
  /** Of the packages, and of those that they bring, the ones that must be compiled. */
  readonly builds?: readonly string[];
  /** As `overrides` in a package.json. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** What it keeps a brand in, and what it does for a request. */
  readonly note: string;
  /** Starts it and puts the brands in. */
  start(setup: Setup): Promise<Running>;
}

export interface Setup {
  /** Where the packages are installed; free for its data. */
  readonly folder: string;
  /** The environment that has the Node to run it with. */
  readonly env: Readonly<Record<string, string>>;
  readonly brands: readonly BrandWithId[];
}

export interface Running {
  readonly server: Measured;
  readonly api: Api;
}

/** The sample brand in the fields of `record`, whatever else it holds; texts that are missing are empty. */
// biome-ignore lint/suspicious/noExplicitAny: each server answers in its own shape
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
 * Sends it once and reads the response.
 * @throws with the response when it is no success or cannot be read
 */
export async function perform<Result>(server: Measured, { request, read }: Operation<Result>): Promise<Result> {
  const { method, path, headers, body } = request;
  const init = { method, headers, ...(body === undefined ? {} : { body: body.replace("[<id>]", "0") }) };
  const response = await fetch(server.url + path, init);
  const text = await response.text();
  try {
    if (response.ok) return read(JSON.parse(text));
  } catch {
    // What it answered says more.
  }
  throw new Error(`${server.name} answers ${method} ${path} with ${response.status}: ${text.slice(0, 300)}`);
}
