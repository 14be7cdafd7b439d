// The server under test, as a case sees it: requests in one format, records that are removed at the end, and checks of responses.

import type { Receiver } from "./receiver.ts";
import { type Format, readList, readRecord, type ShopRecord, shopResources, writeRecord } from "./records.ts";
import { type Answer, send, sendBytes } from "./requests.ts";

/** A promise that the server does not keep. */
export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";

  /** @param command the request, as a command of a shell */
  constructor(
    readonly command: string,
    readonly expected: string,
  ) {
    super(expected);
  }
}

/** The reason why a case cannot run here. */
export class NotTested extends Error {
  override readonly name = "NotTested";
}

/** Keys and addresses beyond those that every run has. */
export interface Extras {
  readonly sandboxKey?: string | undefined;
  readonly readKey?: string | undefined;
  readonly otherKey?: string | undefined;
  readonly revokedKey?: string | undefined;
  readonly limitedKey?: string | undefined;
  readonly suspendedHost?: string | undefined;
  readonly webhookPort?: string | undefined;
  readonly webhookSecret?: string | undefined;
}

export interface CallOptions {
  /** A text or bytes are sent as they are, a record in the format of the case. */
  readonly body?: string | Uint8Array<ArrayBuffer> | ShopRecord;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the key of the run; null for none. */
  readonly key?: string | null;
  /** Instead of the format of the case. */
  readonly format?: Format;
  /** Whether the request needs a connection of its own. */
  readonly isFresh?: boolean;
}

export interface Target {
  readonly url: string;
  readonly key: string;
  readonly extras: Extras;
  /** Stops the run: aborts the reads of cases, but no writes. */
  readonly signal: AbortSignal;
}

const neverAborted = new AbortController().signal;

/** The server, in the format of a case. */
export class Shop {
  /** The beginning of the names of the records of this case. */
  readonly mark: string;
  /** The receiver of webhooks, if the run has one. */
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

  /** Returns the value of an option. Throws NotTested if the option is not given. */
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
      // A write that is stopped could be stored after the records of the run were removed.
      signal: method === "GET" ? this.target.signal : neverAborted,
    });
    this.#last = answer;
    // The ID of a dry run is not that of a record, or of another client's.
    if (answer.status === 201 && !answer.headers.has("X-Dry-Run")) this.#remember(answer, key);
    return answer;
  }

  /** Sends lines of a header section and a body as bytes; `$KEY` and `$HOST` in them are the key and the host. */
  async bytes(lines: readonly string[], body = "", how: { count?: number; end?: boolean } = {}): Promise<Answer[]> {
    const text = `${lines.join("\r\n")}\r\n\r\n${body}`
      .replaceAll("$KEY", this.target.key)
      .replaceAll("$HOST", new URL(this.target.url).host);
    const answers = await sendBytes(this.target.url, text, { ...how, secrets: this.#secrets() });
    for (const answer of answers) if (answer.status === 201) this.#remember(answer, this.target.key);
    this.#last = answers.at(-1);
    return answers;
  }

  /** Returns the first response to bytes. */
  async firstOfBytes(lines: readonly string[], body = ""): Promise<Answer> {
    const [answer] = await this.bytes(lines, body);
    if (!answer)
      throw new BrokenPromise(lines.join("\\r\\n"), "a complete response; the connection was closed instead");
    return answer;
  }

  /** Creates a record whose name begins with the mark, and returns it as stored. */
  async create(path = "orderstatuses", fields: ShopRecord = {}, options: CallOptions = {}) {
    const answer = await this.call("POST", path, { ...options, body: { Name: this.mark, ...fields } });
    this.status(answer, 201);
    const record = this.record(answer, path, options.format);
    return { answer, record, id: record.ID as number, etag: answer.headers.get("ETag") ?? "" };
  }

  /** Returns the record of a response. */
  record(answer: Answer, path = "orderstatuses", format: Format = this.format): ShopRecord {
    return this.#read(answer, "a record", () => readRecord(path, answer.text, format));
  }

  /** Returns the records of a list, in its order. */
  list(answer: Answer, path = "orderstatuses", format: Format = this.format): ShopRecord[] {
    this.status(answer, 200);
    return this.#read(answer, "a list", () => readList(path, answer.text, format));
  }

  /** Returns the records of this run among all records of a resource. */
  async own(path = "orderstatuses", parameters = ""): Promise<ShopRecord[]> {
    return this.list(await this.call("GET", `${path}?filter[Name][contains]=${this.mark}${parameters}`), path);
  }

  status(answer: Answer, ...expected: readonly number[]): void {
    if (expected.includes(answer.status)) return;
    this.fail(answer, `status ${expected.join(" or ")}, not ${answer.status}: ${answer.text.slice(0, 300)}`);
  }

  /** Checks a header field against a text or a pattern; null for a field that must be absent. */
  header(answer: Answer, name: string, expected: string | RegExp | null): void {
    const value = answer.headers.get(name);
    const matches = expected instanceof RegExp ? expected.test(value ?? "") : value === expected;
    if (!matches) this.fail(answer, `${name} ${expected === null ? "absent" : expected}, not ${value}`);
  }

  /** Checks that two values are equal, members in the same order. */
  same(answer: Answer, what: string, actual: unknown, expected: unknown): void {
    const [found, wanted] = [actual, expected].map((value) => JSON.stringify(value) ?? "nothing");
    if (found !== wanted) this.fail(answer, `${what} ${wanted?.slice(0, 600)}, not ${found?.slice(0, 600)}`);
  }

  /** Checks a condition; `expected` says what must be. */
  holds(answer: Answer, expected: string, condition: boolean): void {
    if (!condition) this.fail(answer, expected);
  }

  /** Checks status and text of a problem, and returns its members. */
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

  /** Returns the command of the last request. */
  get lastCommand(): string {
    return this.#last?.command ?? "no request";
  }

  #secrets(): ReadonlyMap<string, string> {
    const { sandboxKey, readKey, otherKey, revokedKey, limitedKey } = this.target.extras;
    const names = { SANDBOX_KEY: sandboxKey, READ_KEY: readKey, OTHER_KEY: otherKey, REVOKED_KEY: revokedKey };
    const all = Object.entries({ KEY: this.target.key, ...names, LIMITED_KEY: limitedKey });
    return new Map(all.flatMap(([name, key]) => (key ? [[key, name]] : [])));
  }

  /** Remembers a created record, also if one of the ways to know its ID fails. */
  #remember(answer: Answer, key: string | null): void {
    const path = Object.keys(shopResources).find((one) => answer.command.includes(`/restapi/${one}.`));
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
