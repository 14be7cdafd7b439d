// Sends requests to the console's API at `/operator` (see admin/). Also has the requests that several pages share.

import type { FieldErrorInfo, WriteProblem, WriteResponse } from "../../admin/api/record-types.ts";
import type { ResourcesResponse, SessionResponse, SitesResponse } from "../../admin/api/types.ts";
import { describeFieldError } from "../text/fields.ts";
import { compareClocks } from "../text/server-time.ts";
import { toSentence, translate } from "../text/translate.ts";
import { markForbidden, markSignedOut, markUnreachable, whenOpen } from "./server-access.ts";

/** The server rejected a request, or couldn't be reached. */
export class HttpError extends Error {
  /** The response's status, or 0 if the server couldn't be reached. */
  readonly status: number;
  readonly body: HttpErrorBody;

  /** @param message shown to the operator */
  constructor(message: string, status: number, body: HttpErrorBody = {}) {
    super(message);
    this.name = "HttpError";
    this.status = status;
    this.body = body;
  }
}

/** A problem document from the server (RFC 9457). */
export interface HttpErrorBody extends WriteProblem {
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: readonly FieldErrorInfo[];
  /** The signed-in operator's ID, if the request was rejected because its page or link is another operator's. */
  readonly operator?: number | undefined;
}

let pageOperator: number | undefined;

/** Sets the operator of this page. Every request names it, because another operator may sign in in another tab. @param operator ID */
export function setPageOperator(operator: number): void {
  pageOperator = operator;
}

interface CallOptions {
  readonly signal?: AbortSignal;
  /** Whether it changes nothing, as a dry run. A GET never does. */
  readonly isRead?: boolean;
}

/**
 * Sends a request, and returns the response's JSON. If the session has ended, or now belongs to another operator, it waits until this page's operator
 * has signed in again. If the server can't be reached, a read waits until it responds again. If the operator was removed, the page says so, and
 * a change's error has no message.
 * @throws HttpError with the status, the problem's detail and its field errors
 */
export async function callApi<T>(
  method: string,
  path: string,
  body?: unknown,
  { signal, isRead = method === "GET" }: CallOptions = {},
): Promise<T> {
  const text = JSON.stringify(body);
  const change = isRead ? undefined : keyOfChange([method, path, text]);
  const request = {
    method,
    headers: {
      Accept: "application/json",
      ...(text === undefined ? {} : { "Content-Type": "application/json" }),
      ...(change ? { "Idempotency-Key": change.key } : {}),
    },
    body: text ?? null,
    signal: signal ?? null,
  };
  const ahead = method === "GET" ? await takeReadAhead(path) : undefined;
  const send = () => (path === sessionPath ? sendOnce(path, request) : sendUntilAnswered(path, request, isRead));
  const response = ahead ?? (await send());
  change?.clearKeys();
  return parseResult(response);
}

/** Sends bytes, such as part of a file. @throws HttpError */
export async function sendBytes(method: string, path: string, bytes: ArrayBuffer): Promise<void> {
  const headers = { Accept: "application/json", "Content-Type": "application/octet-stream" };
  parseResult(await sendUntilAnswered(path, { method, headers, body: bytes }));
}

/** By path. */
const readsAhead = new Map<string, Promise<ApiResponse>>();

/** Milliseconds after which responses are too old to be used. */
const maxAheadMs = 10_000;

/**
 * Sends the reads that the console starts with, while its scripts are still being loaded.
 * @param page the page in the address
 * @returns whether it's a list
 * @throws HttpError
 */
export async function readAhead(page: string): Promise<boolean> {
  const read = async <T>(path: string) => {
    const response = sendOnce(path, { headers: { Accept: "application/json" } });
    readsAhead.set(path, response);
    return parseResult<T>(await response);
  };
  setTimeout(() => readsAhead.clear(), maxAheadMs);
  const session = await read<SessionResponse>(sessionPath);
  if (session.operator === null) return false;
  setPageOperator(session.id);
  const [{ resources }] = await Promise.all([read<ResourcesResponse>("/resources"), read("/sites")]);
  const isList = resources.some(({ path }) => path === page);
  // What the overview or the first page of a list reads. Other addresses have a query or another path.
  const [, site] = /^#\/([^/?]+)(?:\/[^/?]+)?$/.exec(location.hash) ?? [];
  const reads = isList
    ? [`records/${page}?${firstRows}`]
    : page === ""
      ? ["overview", "history?limit=50", "key-traffic"]
      : [];
  if (site) for (const rest of reads) void read(`/sites/${site}/${rest}`).catch(() => {});
  return isList;
}

/** Parameters of the first page of a list, in the order of its request (records/record-data.ts). */
const firstRows = "limit=25&offset=0&sort=Name&order=asc";

/** Each response is used once. Undefined if there is none, or it isn't a success. */
async function takeReadAhead(path: string): Promise<ApiResponse | undefined> {
  const sent = readsAhead.get(path);
  readsAhead.delete(path);
  const response = await sent?.catch(() => undefined);
  return response?.status === 200 ? response : undefined;
}

/** The session's path. Requests for it mustn't wait until someone signs in. */
const sessionPath = "/session";

interface ApiResponse {
  readonly status: number;
  /** The signed-in operator's ID, if the request was rejected because this page is another operator's. */
  readonly operator: number | undefined;
  readonly text: string;
}

/** Sends a request, and repeats it until the server responds to this page's operator. @throws HttpError with the status 0, see `callApi` */
async function sendUntilAnswered(path: string, request: RequestInit, isRead = false): Promise<ApiResponse> {
  for (;;) {
    try {
      const response = await sendOnce(path, request);
      if (response.status !== 401 && response.operator === undefined) return response;
      markSignedOut();
    } catch (error) {
      if (request.signal?.aborted) throw error;
      markUnreachable();
      // The server may have made the change, so don't repeat it: that's up to the operator. There's no message, because the page already shows one
      // (frame/access-notices.tsx).
      if (!isRead) throw new HttpError("", 0);
    }
    await whenOpen().catch(({ message }: Error) => {
      throw new HttpError(isRead ? message : "", 0);
    });
  }
}

/** Sends a request once. @throws HttpError with the status 0 if the server can't be reached */
async function sendOnce(path: string, request: RequestInit): Promise<ApiResponse> {
  try {
    const headers = new Headers(request.headers);
    if (pageOperator !== undefined) headers.set("X-Operator", String(pageOperator));
    const response = await fetch(`/operator${path}`, { ...request, headers, credentials: "same-origin" });
    if (isOfProxy(response, request)) throw new Error(`status ${response.status}`);
    compareClocks(response.headers.get("Date"));
    const operator = response.headers.get("X-Operator");
    return {
      status: response.status,
      operator: operator === null ? undefined : Number(operator),
      text: await response.text(),
    };
  } catch {
    throw new HttpError(translate("app.unreachable_now"), 0);
  }
}

/** Whether it's a proxy that can't reach the server. The server itself explains every error. A 504 may also be about a change that takes long. */
function isOfProxy({ status, headers }: Response, { method }: RequestInit): boolean {
  const statuses = method === "GET" ? [502, 503, 504] : [502, 503];
  return statuses.includes(status) && !headers.get("Content-Type")?.includes("problem+json");
}

/** Returns the JSON of a successful response. @throws HttpError for any other response */
function parseResult<T>({ status, operator, text }: ApiResponse): T {
  const isGood = status >= 200 && status < 300;
  if (status === 204) return undefined as T;
  if (isGood) return JSON.parse(text);
  if (status === 403) markForbidden();
  const problem = { ...parseProblem(text), operator };
  throw new HttpError(messageOf(problem, status), status, problem);
}

function messageOf({ code, detail, errors }: HttpErrorBody, status: number): string {
  if (code === "invalid-record" && errors) return errors.map(describeFieldError).join(" ");
  return detail ? toSentence(detail) : translate("app.failed", { status });
}

function parseProblem(text: string): HttpErrorBody {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

// Gives each change an `Idempotency-Key`. If a response is lost, the server may have made the change. If the operator sends the same change again,
// and nothing else was answered in between, it gets the same key, so the server makes it only once (admin/idempotent-responses.ts).

interface ChangeKey {
  readonly key: string;
  /** Call it when the response has arrived. All later changes then get new keys. */
  readonly clearKeys: () => void;
}

const keys = new Map<string, string>();

const maxKeys = 100;

/** Returns a change's key. It's new, unless the same request was sent before without getting a response. @param request a value for JSON */
function keyOfChange(request: unknown): ChangeKey {
  const text = JSON.stringify(request);
  const key = keys.get(text) ?? randomKey();
  if (keys.size >= maxKeys) keys.clear();
  keys.set(text, key);
  // A response to any change shows the operator the current state, from which they may want the same change again. For example, they create a record
  // whose response is lost, delete it, and create it again. With the first key, the server would answer without storing anything.
  return { key, clearKeys: () => keys.clear() };
}

/** Doesn't use `crypto.randomUUID`, which is missing on pages without TLS. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns a path within a site, such as `/sites/garden/keys`. @param rest starts with `/`; by default, returns the site's own path */
export function sitePath(siteName: string, rest = ""): string {
  return `/sites/${encodeURIComponent(siteName)}${rest}`;
}

export type Declared = ResourcesResponse & SitesResponse & { readonly loadedAt: Date };

/** Loads the declarations and the sites. @throws HttpError */
export async function loadDeclared(): Promise<Declared> {
  const [resources, sites] = await Promise.all([
    callApi<ResourcesResponse>("GET", "/resources"),
    callApi<SitesResponse>("GET", "/sites"),
  ]);
  return { ...resources, ...sites, loadedAt: new Date() };
}

/** The result of a write, from which it can be undone. */
export interface UndoableWrite extends WriteResponse {
  readonly kind: "saved" | "created" | "deleted";
  /** Number of records. */
  readonly count: number;
  /** The record's, if it's only one. */
  readonly name?: string | undefined;
}
