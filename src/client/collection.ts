import { StorefrontFailure } from "./errors.ts";
import { etagOf, withEtag } from "./etag.ts";
import { inRange } from "./options.ts";
import { type Query, toId, toSearch } from "./query.ts";
import type { CallOptions, Content, Send } from "./send.ts";

/**
 * Records, and how many there are without `limit` and `offset`; undefined where `limit` cut the list short and something on the
 * way removed the header that says so.
 */
export type List<Item> = Item[] & { readonly total: number | undefined };

/** A record with only some of its fields. */
export type Part<Item extends { readonly ID: number }> = Pick<Item, "ID"> & Partial<Item>;

/** Fields that a list may be asked for. */
type Fields<Item, Path extends string> = { readonly fields: readonly (Path | keyof Item)[] };

/** The `ETag` of what is there already (see `etagOf`): the call gives undefined when it is still that. */
export type IfNoneMatch = { readonly ifNoneMatch: string | undefined };

export interface AllOptions extends CallOptions {
  /** Records per request, 2 to 1000; 500 unless said. */
  readonly pageSize?: number;
}

/** Which record: its ID, or the record itself. */
export type Target<Item> = number | Item;

export interface WriteOptions extends CallOptions {
  /** Names the write in place of a random name, 1 to 255 printable ASCII characters: repeated within 24 hours, also by another process, it is done once. */
  readonly idempotencyKey?: string;
}

export interface UpdateOptions extends WriteOptions {
  /** The `ETag` that the record must still have (see `etagOf`), or `*`: whatever it has become. */
  readonly ifMatch?: string;
}

/** Records that can be read. */
export class ReadCollection<Item extends { readonly ID: number }, Path extends string> {
  protected readonly send: Send;
  protected readonly path: string;

  constructor(send: Send, path: string) {
    this.send = send;
    this.path = path;
  }

  /** Every record, or those that `query` asks for. With `fields`, records have only those; with `ifNoneMatch`, undefined when nothing changed. */
  list(
    query: Query<Path> & Fields<Item, Path>,
    options: CallOptions & IfNoneMatch,
  ): Promise<List<Part<Item>> | undefined>;
  list(query: Query<Path> & Fields<Item, Path>, options?: CallOptions): Promise<List<Part<Item>>>;
  list(query: Query<Path>, options: CallOptions & IfNoneMatch): Promise<List<Item> | undefined>;
  list(query?: Query<Path>, options?: CallOptions): Promise<List<Item>>;
  async list(query: Query<Path> & Partial<Fields<Item, Path>> = {}, options: CallOptions = {}): Promise<List<Item>> {
    const content = await this.send({ ...options, method: "GET", path: `${this.path}.json${toSearch(query)}` });
    return (content && this.#toList(content, query)) as List<Item>;
  }

  #toList({ headers, body }: Content, { limit, offset = 0 }: Query<Path>): List<Item> {
    if (!Array.isArray(body)) throw new StorefrontFailure("unreadable", "the response is not a list");
    const header = headers.get("X-Total-Count") ?? "";
    // The whole list, and a page that is not full, say by themselves where the list ends.
    const isEnd = (limit === undefined || body.length < limit) && (body.length > 0 || offset === 0);
    const total = /^\d+$/.test(header) ? Number(header) : isEnd ? offset + body.length : undefined;
    return withEtag(Object.assign(body, { total }), headers);
  }

  /**
   * Every record that `query` asks for, in ID order, a page at a time. None is missed and none comes twice, even when
   * others change the list meanwhile.
   */
  async *all(query: Pick<Query<Path>, "filter"> = {}, options: AllOptions = {}): AsyncGenerator<Item, void> {
    const { pageSize = 500, ...rest } = options;
    const limit = inRange("pageSize", pageSize, 2, 1000);
    toSearch(query, ["filter"]);
    let last = 0;
    for (let offset = 0; ; ) {
      const page = await this.list({ ...query, limit, offset }, rest);
      const [first] = page;
      // A page begins with the record that ended the one before. When it does not, records before it were deleted.
      if (offset > 0 && (!first || first.ID > last)) {
        offset = Math.max(0, offset - limit);
        continue;
      }
      for (const item of page) if (item.ID > last) yield item;
      last = Math.max(last, page.at(-1)?.ID ?? 0);
      // The count is not asked: something on the way may have removed it.
      if (page.length < limit) return;
      offset += page.length - 1;
    }
  }

  /**
   * The record with this ID; with `ifNoneMatch`, undefined when it has not changed. Throws a StorefrontProblem with the code
   * `not-found` when there is none.
   */
  get(id: number, options: CallOptions & IfNoneMatch): Promise<Item | undefined>;
  get(id: number, options?: CallOptions): Promise<Item>;
  async get(id: number, options: CallOptions = {}): Promise<Item | undefined> {
    const content = await this.send({ ...options, method: "GET", path: this.pathOf(id) });
    return content && this.toItem(content);
  }

  protected pathOf(id: unknown): string {
    return `${this.path}/${toId(id)}.json`;
  }

  /** The record of a response, with its ETag. */
  protected toItem({ headers, body }: Content): Item {
    if (!("ID" in body)) throw new StorefrontFailure("unreadable", "the response is not a record");
    return withEtag(body as Item, headers);
  }
}

/** Records that can be read and written. */
export class WriteCollection<
  Item extends { readonly ID: number },
  Path extends string,
  New extends object,
> extends ReadCollection<Item, Path> {
  /** Creates a record; what `values` leave out is empty. */
  create(values: New, options: WriteOptions = {}): Promise<Item> {
    return this.#write({ ...options, method: "POST", path: `${this.path}.json`, body: values });
  }

  /**
   * Changes the fields in `changes`, and returns the record as it then is.
   *
   * By ID, whatever the record has become. By a record (or with a record as the changes), only if it has not changed on the server since
   * it was read: otherwise a StorefrontProblem with the code `precondition-failed` is thrown. Throws a TypeError for a record
   * whose version is not known, such as one of a list, unless `ifMatch` says what may be overwritten.
   */
  update(id: number, changes: Partial<New>, options?: UpdateOptions): Promise<Item>;
  update(record: Item, changes?: Partial<New>, options?: UpdateOptions): Promise<Item>;
  async update(target: Target<Item>, changes: object = target as Item, options: UpdateOptions = {}): Promise<Item> {
    const ifMatch = toIfMatch([target, changes], options);
    return this.#write({ ...options, ifMatch, method: "PUT", path: this.pathOf(idOf(target)), body: changes });
  }

  /** Deletes the record, and returns it as it was. By ID or by a record, as in `update`. */
  async delete(target: Target<Item>, options: UpdateOptions = {}): Promise<Item> {
    const ifMatch = toIfMatch([target], options);
    return this.#write({ ...options, ifMatch, method: "DELETE", path: this.pathOf(idOf(target)) });
  }

  async #write(call: Parameters<Send>[0]): Promise<Item> {
    return this.toItem((await this.send(call)) as Content);
  }
}

function idOf(target: unknown): unknown {
  return isRecord(target) ? target.ID : target;
}

function isRecord(value: unknown): value is { ID: unknown } {
  return typeof value === "object" && value !== null && "ID" in value;
}

/** The condition of a write to one of `targets`; undefined when it is named by its ID alone. */
function toIfMatch(targets: readonly unknown[], options: UpdateOptions): string | undefined {
  if ("ifMatch" in options) {
    if (typeof options.ifMatch === "string") return options.ifMatch;
    throw new TypeError('`ifMatch` must be an ETag or "*"; the version of the record is not known');
  }
  const records = targets.filter(isRecord);
  const etag = records.map(etagOf).find((tag) => tag !== undefined);
  if (etag !== undefined || records.length === 0) return etag;
  throw new TypeError(
    'the version of this record is not known: look it up with get(), or say what may be overwritten with { ifMatch: etag } or { ifMatch: "*" }',
  );
}
