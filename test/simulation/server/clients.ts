// A simulated server's clients. Each sends one request after another, as docs/guide.md asks of clients, and shows the checker every response.

import type { Random } from "../random.ts";
import type { SimulatedTime } from "../time.ts";
import type { FeedPage, Position, ServerChecker } from "./checker.ts";
import type { Received, SentRequest, ServerNetwork } from "./network.ts";
import type { Truth } from "./truth.ts";

export interface ClientOptions {
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly network: ServerNetwork;
  readonly checker: ServerChecker;
  readonly truth: Truth;
  /** Returns a unique text for each write. */
  readonly newToken: () => string;
}

/** A client's key and its visible prefix. */
export interface ClientKey {
  readonly key: string;
  readonly prefix: string;
}

/** A write, and how to recognise its first response. */
interface Write {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly tag?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

const paths = ["brands", "orderstatuses"] as const;
/** How often a write is tried. */
const maxAttempts = 6;
const operations: Readonly<Record<string, string>> = { POST: "create", PUT: "update", DELETE: "delete" };

export interface BatchOperation {
  readonly Method: string;
  readonly Resource: string;
  readonly ID?: number;
  readonly Record?: object;
}

class Client {
  protected readonly options: ClientOptions;
  key: ClientKey;
  #isEnding = false;

  constructor(key: ClientKey, options: ClientOptions) {
    this.key = key;
    this.options = options;
  }

  /** Repeats `step` until `end` is called. */
  protected async repeat(step: () => Promise<void>, maxPauseMs: number): Promise<void> {
    const { time, random } = this.options;
    while (!this.#isEnding) {
      await time.sleep(random.between(0, maxPauseMs));
      if (!this.#isEnding) await step();
    }
  }

  end(): void {
    this.#isEnding = true;
  }

  /** Sends a request with a key, by default its own. Returns the response if the request was executed. */
  protected async send(request: SentRequest, { key, prefix } = this.key): Promise<Received | undefined> {
    const { network, checker } = this.options;
    const headers = { "x-api-auth": key, ...request.headers };
    const received = await network.send({ ...request, path: `/restapi/${request.path}`, headers });
    if (!received) return undefined;
    return checker.onResponse(received, prefix, `${request.method} ${request.path}`) ? received : undefined;
  }
}

/** Creates, updates and deletes records, and reads them. */
export class WritingClient extends Client {
  /** ETags of lists it has read, by path. */
  readonly #lists = new Map<string, string>();

  run(maxPauseMs: number): Promise<void> {
    return this.repeat(() => this.#step(), maxPauseMs);
  }

  async #step(): Promise<void> {
    const { random, truth } = this.options;
    const path = random.pick(paths);
    const existing = [...truth.latest.records.keys()].filter((record) => record.startsWith(`${path} `));
    const choice = random.next();
    if (existing.length > 0 && random.chance(0.1)) await this.#batch(path);
    else if (existing.length === 0 || choice < 0.25) await this.#create(path);
    else if (choice < 0.5) await this.#change(random.pick(existing));
    else if (choice < 0.65) await this.readRecord(random.pick(existing));
    else if (choice < 0.75) await this.#readPage(path);
    else await this.readList(path);
  }

  async #create(path: string): Promise<void> {
    const write = { method: "POST", path: `${path}.json`, body: this.#newBody(), idempotencyKey: this.#newKey(0.85) };
    const made = await this.#write(write, (received) => `${path} ${JSON.parse(received.text).ID}`);
    if (made) await this.#readBack(made.record, path);
  }

  /** Updates or deletes a record, usually the version it has read. */
  async #change(record: string): Promise<void> {
    const { random, truth } = this.options;
    const [path = ""] = record.split(" ");
    const historyBefore = truth.latest.history;
    const read = random.chance(0.7) ? await this.readRecord(record) : undefined;
    const tag = read?.status === 200 ? read.headers.get("ETag") : undefined;
    const history = truth.latest.history === historyBefore ? historyBefore : -1;
    const isDelete = random.chance(0.25);
    const write: Write = {
      method: isDelete ? "DELETE" : "PUT",
      path: `${record.replace(" ", "/")}.json`,
      ...(isDelete ? {} : { body: this.#newBody() }),
      tag,
      idempotencyKey: this.#newKey(0.7),
    };
    const made = await this.#write(write, () => record, history);
    if (made) await this.#readBack(record, path);
  }

  /** Reads the record it wrote, in the list or on its own. */
  async #readBack(record: string, path: string): Promise<void> {
    const { random } = this.options;
    if (random.chance(0.4)) await this.readRecord(record);
    if (random.chance(0.4)) await this.readList(path);
  }

  #newBody(): string {
    return JSON.stringify({ Name: this.options.newToken() });
  }

  #newKey(probability: number): string | undefined {
    return this.options.random.chance(probability) ? `key-${this.options.newToken()}` : undefined;
  }

  /** Sends a write with the same idempotency key until there's a response, or just once without a key. */
  async #write(
    write: Write,
    recordOf: (received: Received) => string,
    history = -1,
  ): Promise<{ readonly record: string } | undefined> {
    const { checker, truth, time, random } = this.options;
    const { method, tag, idempotencyKey } = write;
    const firstSentAt = truth.index;
    const sender = this.key;
    for (let attempt = 1; attempt <= (idempotencyKey ? maxAttempts : 1) && this.key === sender; attempt++) {
      const received = await this.#sendWrite(write, sender);
      if (received?.status === 200 || received?.status === 201) {
        const record = recordOf(received);
        const operation = operations[method] as string;
        checker.onWritten(received, record, operation, firstSentAt);
        if (tag !== undefined) checker.onConditionMet(received, record, operation, tag, firstSentAt);
        if (idempotencyKey && random.chance(0.3)) await this.#sendAgain(write, sender, received);
        return { record };
      }
      if (received?.status === 412 && attempt === 1 && tag !== undefined)
        checker.onConditionFailed(received, recordOf(received), tag, history);
      if (received && ![409, 412, 404].includes(received.status))
        checker.fault(`${method} ${write.path}: ${received.status} ${received.text}`);
      if (received && received.status !== 409) return undefined;
      await time.sleep(random.between(10, 2000));
    }
    return undefined;
  }

  /** Sends a batch of up to four operations with the same idempotency key until there's a response. */
  async #batch(path: string): Promise<void> {
    const { checker, truth, time, random } = this.options;
    const operations = Array.from({ length: random.whole(1, 4) }, () => this.#newOperation(path));
    const body = JSON.stringify({ Operations: operations });
    const write = {
      method: "POST",
      path: `batch.json${random.pick(["", "?atomic=0"])}`,
      body,
      idempotencyKey: `key-${this.options.newToken()}`,
    };
    const firstSentAt = truth.index;
    const sender = this.key;
    for (let attempt = 1; attempt <= maxAttempts && this.key === sender; attempt++) {
      const received = await this.#sendWrite(write, sender);
      if (received?.status === 200) {
        checker.onBatch(received, operations, firstSentAt);
        if (random.chance(0.3)) await this.#sendAgain(write, sender, received);
        return;
      }
      // An operation's record was deleted, or the journal was pruned before the response was repeated.
      if (received && ![404, 409, 422].includes(received.status))
        checker.fault(`POST ${write.path}: ${received.status} ${received.text}`);
      if (received && received.status !== 409) return;
      await time.sleep(random.between(10, 2000));
    }
  }

  #newOperation(path: string): BatchOperation {
    const { random, truth } = this.options;
    const Record = { Name: this.options.newToken() };
    const existing = [...truth.latest.records.keys()];
    const [Resource = "", id] = random.pick(existing)?.split(" ") ?? [];
    if (id === undefined || random.chance(0.5)) return { Method: "POST", Resource: path, Record };
    const named = { Resource, ID: Number(id) };
    return random.chance(0.3) ? { Method: "DELETE", ...named } : { Method: "PUT", ...named, Record };
  }

  #sendWrite({ method, path, body, tag, idempotencyKey }: Write, sender: ClientKey): Promise<Received | undefined> {
    const headers = {
      ...(tag === undefined ? {} : { "if-match": tag }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    };
    return this.send({ method, path, headers, ...(body === undefined ? {} : { body }) }, sender);
  }

  /** Repeats a write that has its response, or sends another with its idempotency key. */
  async #sendAgain(write: Write, sender: ClientKey, first: Received): Promise<void> {
    const { checker, random } = this.options;
    if (write.body && !isBatch(write) && random.chance(0.3)) {
      const other = await this.#sendWrite({ ...write, body: this.#newBody() }, sender);
      if (other && other.status !== 422 && !this.#isRolledBack(first, other))
        checker.fault(`${write.method} ${write.path}: ${other.status} for another write with the same idempotency key`);
      return;
    }
    const again = await this.#sendWrite(write, sender);
    if (!again || this.#isRolledBack(first, again) || again.status === 409) return;
    // The changes have been pruned from the journal.
    if (isBatch(write) && again.status === 422) return;
    const isSame = again.status === first.status && withoutRequest(again.text) === withoutRequest(first.text);
    const isTagged = again.headers.get("ETag") === first.headers.get("ETag");
    if (!isSame || !isTagged || again.headers.get("Idempotency-Replayed") !== "true")
      checker.fault(`${write.method} ${write.path}: the replay is ${again.status} ${again.text}, not ${first.text}`);
  }

  /** Whether the database went back or got new epochs between two responses. */
  #isRolledBack(first: Received, last: Received): boolean {
    const moments = this.options.truth.moments.slice(first.sentAt, last.madeAt + 1);
    return moments.some(({ lineage, history }) => lineage !== moments[0]?.lineage || history !== moments[0]?.history);
  }

  async readRecord(record: string): Promise<Received | undefined> {
    const received = await this.send({ method: "GET", path: `${record.replace(" ", "/")}.json` });
    if (received) this.options.checker.onRecord(received, record);
    return received;
  }

  async readList(path: string): Promise<Received | undefined> {
    const known = this.#lists.get(path);
    const headers = known === undefined ? {} : { "if-none-match": known };
    const received = await this.send({ method: "GET", path: `${path}.json`, headers });
    if (!received) return undefined;
    this.options.checker.onList(received, path, known, undefined);
    const tag = received.headers.get("ETag");
    if (tag !== undefined) this.#lists.set(path, tag);
    return received;
  }

  async #readPage(path: string): Promise<void> {
    const { random, checker } = this.options;
    const page = { limit: random.whole(1, 3), offset: random.whole(0, 4) };
    const received = await this.send({ method: "GET", path: `${path}.json?limit=${page.limit}&offset=${page.offset}` });
    if (received) checker.onList(received, path, undefined, page);
  }
}

/** Returns a response's text without the request IDs in its problems. */
function withoutRequest(text: string): string {
  return text.replaceAll(/"instance":"\w+"/g, "");
}

function isBatch({ path }: Write): boolean {
  return path.startsWith("batch.");
}

/** Follows the feed, and keeps a copy of all records, as docs/guide.md says. */
export class FollowingClient extends Client {
  /** By path and ID. */
  #copy = new Map<string, string>();
  #position: Position | undefined = { cursor: "0.0", entry: undefined, history: undefined };
  restarts = 0;

  run(maxPauseMs: number): Promise<void> {
    return this.repeat(async () => void (await this.follow()), maxPauseMs);
  }

  get copy(): ReadonlyMap<string, string> {
    return this.#copy;
  }

  /** Reads the next page, and starts over after a 410. Returns whether it has reached the end of the feed. */
  async follow(wait = this.options.random.pick([0, 0, 5, 20])): Promise<boolean> {
    const { checker, random } = this.options;
    if (!this.#position) {
      await this.#start();
      return false;
    }
    const position = this.#position;
    const limit = random.pick([1, 3, 100]);
    const query = `since=${position.cursor}&limit=${limit}${wait > 0 ? `&wait=${wait}` : ""}`;
    const received = await this.send({ method: "GET", path: `changes.json?${query}` });
    if (!received) return false;
    this.#position = checker.onFeed(received, position, wait * 1000);
    if (!this.#position) return false;
    const page: FeedPage = JSON.parse(received.text);
    for (const { Operation, Resource, ID, Record } of page.Changes) {
      if (Operation === "delete") this.#copy.delete(`${Resource} ${ID}`);
      else this.#copy.set(`${Resource} ${ID}`, JSON.stringify(Record));
    }
    return !page.More;
  }

  async #start(): Promise<void> {
    const { checker } = this.options;
    this.restarts++;
    const first = await this.send({ method: "GET", path: "changes.json?since=now" });
    if (!first) return;
    const position = checker.onFeedStart(first);
    const copy = new Map<string, string>();
    for (const path of paths) {
      const received = await this.send({ method: "GET", path: `${path}.json` });
      if (!received) return;
      checker.onList(received, path, undefined, undefined);
      if (received.status !== 200) return;
      for (const record of JSON.parse(received.text)) copy.set(`${path} ${record.ID}`, JSON.stringify(record));
    }
    this.#copy = copy;
    this.#position = position;
  }
}
