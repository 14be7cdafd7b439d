// The server under test, as a case sees it: sends requests in one format, checks responses, and remembers records so that they get removed.

import type { Receiver } from "./receiver.ts";
import { type Format, readList, readRecord, type ShopRecord, shopResources, writeRecord } from "./records.ts";
import { type Answer, send, sendBytes } from "./requests.ts";

/** The server broke a promise. */
export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";

  /** @param command the request as a shell command */
  constructor(
    readonly command: string,
    readonly expected: string,
  ) {
    super(expected);
  }
}

/** A case can't run here; the message says why. */
export class NotTested extends Error {
  override readonly name = "NotTested";
}

/** Optional keys and addresses, which let more cases run. */
export interface Extras {
  readonly sandboxKey?: string | undefined;
  readonly readKey?: string | undefined;
  readonly otherKey?: string | undefined;
  readonly revokedKey?: string | undefined;
  readonly limitedKey?: string | undefined;
  readonly suspendedHost?: string | undefined;
  readonly webhookPort?: string | undefined;
  readonly webhookSecret?: string | undefined;
  readonly webhookKey?: string | undefined;
}

export interface CallOptions {
  /** Strings and bytes are sent as is; a record is written in the case's format. */
  readonly body?: string | Uint8Array<ArrayBuffer> | ShopRecord;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the run's key. Null sends none. */
  readonly key?: string | null;
  /** Default: the case's format. */
  readonly format?: Format;
  /** Uses a new connection, which may reach another of the server's processes. */
  readonly isFresh?: boolean;
}

export interface Target {
  readonly url: string;
  readonly key: string;
  readonly extras: Extras;
  /** Stops the run: aborts the cases' reads, but not their writes. */
  readonly signal: AbortSignal;
}

const neverAborted = new AbortController().signal;

export class Shop {
  /** Prefix of the names of this case's records. */
  readonly mark: string;
  readonly receiver: Receiver | undefined;
  readonly #created: Map<string, string>;
  #last: Answer | undefined;

  constructor(
    readonly target: Target,
    readonly format: Format,
    shared: { readonly mark: string; readonly created: Map<string, string>; readonly receiver?: Receiver | undefined },
  ) {
    this.mark = shared.mark;
    this.receiver = shared.receiver;
    this.#created = shared.created;
  }

  /** Returns an option's value. @throws NotTested if it wasn't given */
  need(extra: keyof Extras): string {
    const value = this.target.extras[extra];
    if (!value) throw new NotTested(`needs --${extra.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
    return value;
  }

  /**
   * Sends a request.
   *
   * @param path from the root of the server; or without its first slash, below `/restapi/` and without the ending of the format
   */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { key = this.target.key, format = this.format, body, isFresh = false } = options;
    const [place = "", query] = path.split(/\?(.*)/s);
    const target = path.startsWith("/") ? path : `/restapi/${place}.${format}${query === undefined ? "" : `?${query}`}`;
    const isRecord = body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array);
    const answer = await send({
      method,
      url: `${this.target.url}${target}`,
      headers: { ...(key ? { "X-API-AUTH": key } : {}), ...options.headers },
      body: isRecord ? writeRecord(place.split("/")[0] ?? "", body, format) : body,
      isFresh,
      secrets: this.#secrets(),
      // An aborted write could still be stored after the run's records were removed.
      signal: method === "GET" ? this.target.signal : neverAborted,
    });
    this.#last = answer;
    // No record has the ID of a dry run, or another client's record does.
    if (answer.status === 201 && !answer.headers.has("X-Dry-Run")) this.#remember(answer, key);
    return answer;
  }

  /** Sends header lines and a body as raw bytes. `$KEY` and `$HOST` are replaced. */
  async bytes(lines: readonly string[], body = "", how: { count?: number; end?: boolean } = {}): Promise<Answer[]> {
    const text = `${lines.join("\r\n")}\r\n\r\n${body}`
      .replaceAll("$KEY", this.target.key)
      .replaceAll("$HOST", new URL(this.target.url).host);
    const answers = await sendBytes(this.target.url, text, { ...how, secrets: this.#secrets() });
    for (const answer of answers) if (answer.status === 201) this.#remember(answer, this.target.key);
    this.#last = answers.at(-1);
    return answers;
  }

  async firstOfBytes(lines: readonly string[], body = ""): Promise<Answer> {
    const [answer] = await this.bytes(lines, body);
    if (!answer)
      throw new BrokenPromise(lines.join("\\r\\n"), "a complete response; the connection was closed instead");
    return answer;
  }

  /** Creates a record whose name starts with the mark, and returns it as stored. */
  async create(path = "orderstatuses", fields: ShopRecord = {}, options: CallOptions = {}) {
    const answer = await this.call("POST", path, { ...options, body: { Name: this.mark, ...fields } });
    this.status(answer, 201);
    const record = this.record(answer, path, options.format);
    return { answer, record, id: record.ID as number, etag: answer.headers.get("ETag") ?? "" };
  }

  record(answer: Answer, path = "orderstatuses", format: Format = this.format): ShopRecord {
    return this.#read(answer, "a record", () => readRecord(path, answer.text, format));
  }

  list(answer: Answer, path = "orderstatuses", format: Format = this.format): ShopRecord[] {
    this.status(answer, 200);
    return this.#read(answer, "a list", () => readList(path, answer.text, format));
  }

  /** Returns a resource's records, but only this run's. */
  async own(path = "orderstatuses", parameters = ""): Promise<ShopRecord[]> {
    return this.list(await this.call("GET", `${path}?filter[Name][contains]=${this.mark}${parameters}`), path);
  }

  status(answer: Answer, ...expected: readonly number[]): void {
    if (expected.includes(answer.status)) return;
    this.fail(answer, `status ${expected.join(" or ")}, not ${answer.status}: ${answer.text.slice(0, 300)}`);
  }

  /** Checks a header against a string or pattern. Null means the header must be missing. */
  header(answer: Answer, name: string, expected: string | RegExp | null): void {
    const value = answer.headers.get(name);
    const matches = expected instanceof RegExp ? expected.test(value ?? "") : value === expected;
    if (!matches) this.fail(answer, `${name} ${expected === null ? "absent" : expected}, not ${value}`);
  }

  /** Checks that two values are equal, with members in the same order. */
  same(answer: Answer, what: string, actual: unknown, expected: unknown): void {
    const [found, wanted] = [actual, expected].map((value) => JSON.stringify(value) ?? "nothing");
    if (found !== wanted) this.fail(answer, `${what} ${wanted?.slice(0, 600)}, not ${found?.slice(0, 600)}`);
  }

  /** Checks a condition. `expected` says what should be there. */
  holds(answer: Answer, expected: string, condition: boolean): void {
    if (!condition) this.fail(answer, expected);
  }

  /** Checks a problem's status and text, and returns its members. */
  problem(answer: Answer, status: number, text: RegExp = /./): { type: string; instance: string; detail: string } {
    this.status(answer, status);
    const member = (name: string) =>
      new RegExp(`"${name}":\\s*"((?:[^"\\\\]|\\\\.)*)"|<${name}>([^<]*)</${name}>`).exec(answer.text);
    const read = (name: string) => member(name)?.slice(1).find(Boolean) ?? "";
    if (!text.test(answer.text)) this.fail(answer, `a problem that matches ${text}, not ${answer.text.slice(0, 300)}`);
    return { type: read("type"), instance: read("instance"), detail: read("detail") };
  }

  fail(answer: Answer | undefined, expected: string): never {
    throw new BrokenPromise(answer?.command ?? this.#last?.command ?? "no request", expected);
  }

  get lastCommand(): string {
    return this.#last?.command ?? "no request";
  }

  #secrets(): ReadonlyMap<string, string> {
    const { sandboxKey, readKey, otherKey, revokedKey, limitedKey, webhookKey } = this.target.extras;
    const names = { SANDBOX_KEY: sandboxKey, READ_KEY: readKey, OTHER_KEY: otherKey, REVOKED_KEY: revokedKey };
    const all = Object.entries({ KEY: this.target.key, ...names, LIMITED_KEY: limitedKey, WEBHOOK_KEY: webhookKey });
    return new Map(all.flatMap(([name, key]) => (key ? [[key, name]] : [])));
  }

  /** Remembers a created record, even if one of the ways to get its ID fails. */
  #remember(answer: Answer, key: string | null): void {
    const path = [...Object.keys(shopResources), "webhooks"].find((one) => answer.command.includes(`/restapi/${one}.`));
    const location = answer.headers.get("Location") ?? "";
    const id =
      /\/(\d+)\.\w+$/.exec(location)?.[1] ?? /"ID":(\d+)| ID="(\d+)"/.exec(answer.text)?.slice(1).find(Boolean);
    if (path && id && key) this.#created.set(`/restapi/${path}/${id}.json ${key}`, key);
  }

  #read<T>(answer: Answer, what: string, read: () => T): T {
    try {
      return read();
    } catch (error) {
      return this.fail(answer, `${what} in ${this.format.toUpperCase()}: ${(error as Error).message}`);
    }
  }
}
