import { type UpsertOptions, type UpsertOutcome, upsertAll } from "./batch.ts";
import { etagOf, withEtag } from "./etag.ts";
import { checkedId, checkedMembers, type Query, toSearch } from "./list-query.ts";
import { checkedInteger } from "./options.ts";
import type { CallOptions, ClientRequest, ParsedResponse, Send } from "./send.ts";
import { StorefrontFailure } from "./storefront-errors.ts";

/**
 * A list of records. `total` is the number of matching records on all pages. It is undefined if a proxy removed the header field with the
 * number, and `limit` may have cut the list.
 */
export type RecordList<Item> = Item[] & { readonly total: number | undefined };

/** The `fields` of a list: paths of fields, such as `Address.Town`, or names of groups, such as `Address`. */
export type FieldList<Item, Path extends string> = readonly (Path | (keyof Item & string))[];

/**
 * A record with the ID and the fields in `Fields` only. If the compiler does not know them, because the program computes them, each field may be
 * missing. An empty list selects all fields.
 */
export type SelectedRecord<
  Item extends { readonly ID: number },
  Fields extends readonly string[],
> = Fields extends readonly []
  ? Item
  : AreLiterals<Fields> extends true
    ? Selected<Item, Fields[number] | "ID">
    : PartialRecord<Item>;

/** A record with the ID and some of its fields. */
export type PartialRecord<Item extends { readonly ID: number }> = Pick<Item, "ID"> & {
  [Name in keyof Item]?: Item[Name] extends object ? Partial<Item[Name]> : Item[Name];
};

type Selected<Value, Path> = {
  [Name in keyof Value as Name extends FirstName<Path> ? Name : never]: Name extends Path
    ? Value[Name]
    : Selected<Value[Name], PathBelow<Path, Name>>;
};

type FirstName<Path> = Path extends `${infer Name}.${string}` ? Name : Path;

type PathBelow<Path, Name> = Name extends string ? (Path extends `${Name}.${infer Rest}` ? Rest : never) : never;

/** Whether the compiler knows the length of the list, and a single value for each element. */
type AreLiterals<List extends readonly string[]> = number extends List["length"]
  ? false
  : true extends { [Index in keyof List]: IsUnion<List[Index]> }[number]
    ? false
    : true;

type IsUnion<Type, Whole = Type> = Type extends unknown ? ([Whole] extends [Type] ? false : true) : never;

/** The `ETag` of the record or list that you already have (see `etagOf`). The call returns undefined if it is still current. */
export type IfNoneMatch = { readonly ifNoneMatch: string | undefined };

/** Options of `all`. */
export interface AllOptions extends CallOptions {
  /** Maximum number of records in one response, 2 to 1000. Default: 500. */
  readonly pageSize?: number;
}

/** A record, or its ID. */
export type RecordOrId<Item> = number | Item;

/** Options of `create`. */
export interface WriteOptions extends CallOptions {
  /** Whether to return what the write would return, without storing anything. */
  readonly dryRun?: boolean;
  /**
   * The `Idempotency-Key`, 1 to 255 printable ASCII characters. Default: a random key. If any process repeats the write with the
   * same key within 24 hours, the server executes it only once.
   */
  readonly idempotencyKey?: string;
}

/** Options of `update` and `delete`. */
export interface UpdateOptions extends WriteOptions {
  /** The `ETag` that the record must still have (see `etagOf`), or `*` to overwrite any version. */
  readonly ifMatch?: string;
}

/** A collection of records that clients can read. */
export class ReadCollection<Item extends { readonly ID: number }, Path extends string> {
  protected readonly send: Send;
  protected readonly path: string;

  constructor(send: Send, path: string) {
    this.send = send;
    this.path = path;
  }

  /**
   * Returns all records, or the records that match `query`. With `fields`, the records have only the ID and these fields. With `ifNoneMatch`, returns
   * undefined if the list has not changed.
   */
  list<Fields extends FieldList<Item, Path>>(
    query: Query<Path> & { readonly fields: readonly [...Fields] },
    options: CallOptions & IfNoneMatch,
  ): Promise<RecordList<SelectedRecord<Item, Fields>> | undefined>;
  list<Fields extends FieldList<Item, Path>>(
    query: Query<Path> & { readonly fields: readonly [...Fields] },
    options?: CallOptions,
  ): Promise<RecordList<SelectedRecord<Item, Fields>>>;
  list(query: Query<Path>, options: CallOptions & IfNoneMatch): Promise<RecordList<Item> | undefined>;
  list(query?: Query<Path>, options?: CallOptions): Promise<RecordList<Item>>;
  async list(
    query: Query<Path> & { readonly fields?: readonly string[] } = {},
    options: CallOptions = {},
  ): Promise<RecordList<unknown> | undefined> {
    const response = await this.send({ ...options, method: "GET", path: `${this.path}.json${toSearch(query)}` });
    return response && this.#toList(response, query);
  }

  #toList({ headers, body }: ParsedResponse, { limit, offset = 0 }: Query<Path>): RecordList<Item> {
    if (!Array.isArray(body)) throw new StorefrontFailure("unreadable", "the response is not a list");
    const header = headers.get("X-Total-Count") ?? "";
    // Without the header field, the total is known for a list without `limit`, and for a page that is not full.
    const isEnd = (limit === undefined || body.length < limit) && (body.length > 0 || offset === 0);
    const total = /^\d+$/.test(header) ? Number(header) : isEnd ? offset + body.length : undefined;
    return withEtag(Object.assign(body, { total }), headers.get("ETag"));
  }

  /**
   * Yields all records that match `query`, in ID order, one page per request. It neither misses nor repeats a record if other clients
   * change the list during the iteration.
   */
  async *all(query: Pick<Query<Path>, "filter"> = {}, options: AllOptions = {}): AsyncGenerator<Item, void> {
    const { pageSize = 500, ...rest } = options;
    const limit = checkedInteger("pageSize", pageSize, 2, 1000);
    toSearch(query, ["filter"]);
    let last = 0;
    for (let offset = 0; ; ) {
      const page = await this.list({ ...query, limit, offset }, rest);
      const [first] = page;
      // Pages overlap by one record. If this page begins after the last record of the page before, earlier records were deleted: go back.
      if (offset > 0 && (!first || first.ID > last)) {
        offset = Math.max(0, offset - limit);
        continue;
      }
      for (const item of page) if (item.ID > last) yield item;
      last = Math.max(last, page.at(-1)?.ID ?? 0);
      // Do not use `total`, because a proxy may have removed its header field.
      if (page.length < limit) return;
      offset += page.length - 1;
    }
  }

  /**
   * Returns the record with this ID. With `ifNoneMatch`, returns undefined if the record has not changed. Throws a StorefrontProblem with
   * the code `not-found` if the record does not exist.
   */
  get(id: number, options: CallOptions & IfNoneMatch): Promise<Item | undefined>;
  get(id: number, options?: CallOptions): Promise<Item>;
  async get(id: number, options: CallOptions = {}): Promise<Item | undefined> {
    const response = await this.send({ ...options, method: "GET", path: this.pathOf(id) });
    return response && this.toItem(response);
  }

  protected pathOf(id: unknown): string {
    return `${this.path}/${checkedId(id)}.json`;
  }

  /** Returns the record of a response, with its `ETag`. */
  protected toItem(response: ParsedResponse | undefined): Item {
    if (!response || !("ID" in response.body)) {
      throw new StorefrontFailure("unreadable", "the response is not a record");
    }
    return withEtag(response.body as Item, response.headers.get("ETag"));
  }
}

/** A collection of records that clients can read and write. */
export class WriteCollection<
  Item extends { readonly ID: number },
  Path extends string,
  New extends object,
> extends ReadCollection<Item, Path> {
  /** Creates a record, and returns it. Fields that are not in `values` are stored as empty texts. */
  create(values: New, options: WriteOptions = {}): Promise<Item> {
    return this.#write(options, { method: "POST", path: `${this.path}.json`, body: values });
  }

  /**
   * Changes the fields in `changes`, and returns the updated record.
   *
   * With an ID, updates any version of the record. With a record (as the target or as the changes), updates only the version that you read: if
   * the record has changed on the server since then, throws a StorefrontProblem with the code `precondition-failed`. For a record of unknown
   * version, such as a record from a list, throws a TypeError unless you pass `ifMatch`.
   */
  update(id: number, changes: Partial<New>, options?: UpdateOptions): Promise<Item>;
  update(record: Item, changes?: Partial<New>, options?: UpdateOptions): Promise<Item>;
  async update(target: RecordOrId<Item>, changes: object = target as Item, options: UpdateOptions = {}): Promise<Item> {
    const ifMatch = toIfMatch([target, changes], options);
    return this.#write(options, { ifMatch, method: "PUT", path: this.pathOf(idOf(target)), body: changes });
  }

  /** Deletes the record, and returns its last version. For an ID and for a record, the same rules apply as for `update`. */
  async delete(target: RecordOrId<Item>, options: UpdateOptions = {}): Promise<Item> {
    const ifMatch = toIfMatch([target], options);
    return this.#write(options, { ifMatch, method: "DELETE", path: this.pathOf(idOf(target)) });
  }

  /**
   * Updates the record that has the value of the field `match`, or creates it, for each of `records`. Any number of records: the call sends batch
   * requests of at most 1000, one after the other. Each is stored completely or not at all. After a failure, call it again with the same records and the same
   * `idempotencyKey`: requests that were done are not done twice.
   *
   * Throws a StorefrontProblem if records are rejected; `errors` has their numbers, from 1, and `runs` the runs that were stored before. In a dry run,
   * `errors` has the rejected records of the whole list. Throws a TypeError if two records have the same value.
   */
  upsert(records: readonly New[], options: UpsertOptions<Path>): Promise<UpsertOutcome<Item>> {
    return upsertAll(this.send, this.path, records, options);
  }

  /** @throws TypeError for an unknown option, because a misspelt `dryRun` would store */
  async #write(options: UpdateOptions, request: ClientRequest): Promise<Item> {
    checkedMembers(options, ["dryRun", "idempotencyKey", "ifMatch", "signal", "timeout"]);
    const { dryRun, ...rest } = options;
    const path = request.path + (dryRun ? "?dryRun=1" : "");
    return this.toItem(await this.send({ ...rest, ...request, path }));
  }
}

function idOf(target: unknown): unknown {
  return isRecord(target) ? target.ID : target;
}

function isRecord(value: unknown): value is { ID: unknown } {
  return typeof value === "object" && value !== null && "ID" in value;
}

/** Returns the `If-Match` of a write; undefined if `targets` contain only an ID. @throws TypeError for a record of unknown version */
function toIfMatch(targets: readonly unknown[], options: UpdateOptions): string | undefined {
  if ("ifMatch" in options) {
    if (typeof options.ifMatch === "string") return options.ifMatch;
    throw new TypeError('`ifMatch` must be an ETag or "*"; the version of the record is unknown');
  }
  const records = targets.filter(isRecord);
  const etag = records.map(etagOf).find((tag) => tag !== undefined);
  if (etag !== undefined || records.length === 0) return etag;
  throw new TypeError(
    'the version of this record is unknown: read it with get(), or pass { ifMatch: etag }, or { ifMatch: "*" } to overwrite any version',
  );
}
