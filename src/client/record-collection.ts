import { type UpsertOptions, type UpsertOutcome, upsertAll } from "./batch.ts";
import { etagOf, withEtag } from "./etag.ts";
import { checkId, checkMembers, type Query, toSearch } from "./list-query.ts";
import { checkInteger } from "./options.ts";
import type { CallOptions, ClientRequest, ParsedResponse, Send } from "./send.ts";
import { StorefrontFailure } from "./storefront-errors.ts";
import { type SyncOptions, type SyncOutcome, syncRecords } from "./sync.ts";

/**
 * A list of records. `total` counts the matching records on all pages. It's undefined if a proxy stripped `X-Total-Count` and the list may have more
 * pages.
 */
export type RecordList<Item> = Item[] & { readonly total: number | undefined };

/** The `fields` of a list: field paths such as `Address.Town`, or whole groups such as `Address`. */
export type FieldList<Item, Path extends string> = readonly (Path | (keyof Item & string))[];

/**
 * A record with its ID and only the fields in `Fields`. If `Fields` is computed at run time, every field is optional. An empty list selects all
 * fields.
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

/** Whether the list has a fixed length and a single literal type for each element. */
type AreLiterals<List extends readonly string[]> = number extends List["length"]
  ? false
  : true extends { [Index in keyof List]: IsUnion<List[Index]> }[number]
    ? false
    : true;

type IsUnion<Type, Whole = Type> = Type extends unknown ? ([Whole] extends [Type] ? false : true) : never;

/** The `ETag` of the record or list you already have (see `etagOf`). The call returns undefined if it's still current. */
export type IfNoneMatch = { readonly ifNoneMatch: string | undefined };

/** Options of `all`. */
export interface AllOptions extends CallOptions {
  /** Maximum number of records per response, 2 to 1000. Default: 500. */
  readonly pageSize?: number;
}

/** A record, or its ID. */
export type RecordOrId<Item> = number | Item;

/** Options of `create`. */
export interface WriteOptions extends CallOptions {
  /** If true, validates the write and returns what it would return, but stores nothing. */
  readonly dryRun?: boolean;
  /**
   * The `Idempotency-Key`, 1 to 255 printable ASCII characters. Default: a random key. If the write is repeated with the same key within 24 hours,
   * even by another process, the server executes it only once.
   */
  readonly idempotencyKey?: string;
}

/** Options of `update` and `delete`. */
export interface UpdateOptions extends WriteOptions {
  /** The `ETag` the record must still have (see `etagOf`), or `*` to overwrite any version. */
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
   * Returns all records, or those that match `query`. With `fields`, records have only their ID and those fields. With `ifNoneMatch`, returns
   * undefined if the list hasn't changed.
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
    if (!Array.isArray(body)) throw new StorefrontFailure("unreadable", "the response isn't a list");
    const header = headers.get("X-Total-Count") ?? "";
    // Without the header, we still know the total if there's no `limit` or the page isn't full.
    const isEnd = (limit === undefined || body.length < limit) && (body.length > 0 || offset === 0);
    const total = /^\d+$/.test(header) ? Number(header) : isEnd ? offset + body.length : undefined;
    return withEtag(Object.assign(body, { total }), headers.get("ETag"));
  }

  /**
   * Yields all records that match `query`, in ID order, requesting one page at a time. Records are never skipped or repeated, even if other clients
   * change the list in the meantime.
   */
  async *all(query: Pick<Query<Path>, "filter"> = {}, options: AllOptions = {}): AsyncGenerator<Item, void> {
    const { pageSize = 500, ...rest } = options;
    const limit = checkInteger("pageSize", pageSize, 2, 1000);
    toSearch(query, ["filter"]);
    let last = 0;
    for (let offset = 0; ; ) {
      const page = await this.list({ ...query, limit, offset }, rest);
      const [first] = page;
      // Pages overlap by one record. If this one starts beyond the previous page's last record, earlier records were deleted, so go back.
      if (offset > 0 && (!first || first.ID > last)) {
        offset = Math.max(0, offset - limit);
        continue;
      }
      for (const item of page) if (item.ID > last) yield item;
      last = Math.max(last, page.at(-1)?.ID ?? 0);
      // Don't rely on `total`: a proxy may have stripped its header.
      if (page.length < limit) return;
      offset += page.length - 1;
    }
  }

  /**
   * Returns the record with this ID. With `ifNoneMatch`, returns undefined if the record hasn't changed. Throws a StorefrontProblem with the code
   * `not-found` if there is no such record.
   */
  get(id: number, options: CallOptions & IfNoneMatch): Promise<Item | undefined>;
  get(id: number, options?: CallOptions): Promise<Item>;
  async get(id: number, options: CallOptions = {}): Promise<Item | undefined> {
    const response = await this.send({ ...options, method: "GET", path: this.pathOf(id) });
    return response && this.toItem(response);
  }

  protected pathOf(id: unknown): string {
    return `${this.path}/${checkId(id)}.json`;
  }

  /** Returns the response's record, with its `ETag`. */
  protected toItem(response: ParsedResponse | undefined): Item {
    if (!response || !("ID" in response.body)) {
      throw new StorefrontFailure("unreadable", "the response isn't a record");
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
  /** Creates a record and returns it. Fields missing from `values` are stored as empty strings. */
  create(values: New, options: WriteOptions = {}): Promise<Item> {
    return this.#write(options, { method: "POST", path: `${this.path}.json`, body: values });
  }

  /**
   * Changes the fields in `changes`, and returns the updated record.
   *
   * Given an ID, overwrites any version of the record. Given a record (as the target or as the changes), updates only the version you read: if the
   * record has changed on the server since then, throws a StorefrontProblem with the code `precondition-failed`. If the record's version is unknown,
   * for example because it came from a list, throws a TypeError unless you pass `ifMatch`.
   * @example await client.brands.update(7, { Name: "Acme" }); // any version
   * @example await client.brands.update(brand, { Name: "Acme" }); // only the version in `brand`
   */
  update(id: number, changes: Partial<New>, options?: UpdateOptions): Promise<Item>;
  update(record: Item, changes?: Partial<New>, options?: UpdateOptions): Promise<Item>;
  async update(target: RecordOrId<Item>, changes: object = target as Item, options: UpdateOptions = {}): Promise<Item> {
    const ifMatch = toIfMatch([target, changes], options);
    return this.#write(options, { ifMatch, method: "PUT", path: this.pathOf(idOf(target)), body: changes });
  }

  /** Deletes a record, and returns its last version. As with `update`, passing a record deletes only the version you read. */
  async delete(target: RecordOrId<Item>, options: UpdateOptions = {}): Promise<Item> {
    const ifMatch = toIfMatch([target], options);
    return this.#write(options, { ifMatch, method: "DELETE", path: this.pathOf(idOf(target)) });
  }

  /**
   * Updates the record whose `match` field has the same value, or creates one, for each of `records`. The list can have any length: it's sent in
   * batch requests of up to 1000 records, one after another, and each is stored completely or not at all. After a failure, call it again with the
   * same records and the same `idempotencyKey`: requests that succeeded aren't executed again.
   *
   * Throws a StorefrontProblem if records are rejected: its `errors` give their numbers, counted from 1, and its `runs` list what was stored before.
   * A dry run checks the whole list before it throws. Throws a TypeError if two records have the same `match` value.
   * @example await client.brands.upsert(brands, { match: "AccountNumber" });
   */
  upsert(records: readonly New[], options: UpsertOptions<Path>): Promise<UpsertOutcome<Item>> {
    return upsertAll(this.send, this.path, records, options);
  }

  /**
   * Makes the records equal to a list: creates those that are missing, updates those that differ in the fields you pass and, with `removeMissing`, deletes
   * those that aren't in the list, unless someone has changed them meanwhile. Records that the server rejects are in `rejected`; the others are stored.
   * After a failure, call it again with the same list: it sends what's left.
   *
   * Throws a StorefrontFailure with the reason `too-many-removals`, before anything is stored, if more than half of the records aren't in the list, or more
   * than `allowRemovals`. Throws a TypeError if a record has no `match` value or shares it with another.
   * @example await client.brands.sync(brands, { match: "AccountNumber", removeMissing: true, dryRun: true });
   */
  sync(records: readonly New[], options: SyncOptions<Path>): Promise<SyncOutcome<Item, New>> {
    const read = (call: CallOptions) => this.all({}, { ...call, pageSize: 1000 });
    return syncRecords({ send: this.send, resource: this.path, read }, records, options);
  }

  /** @throws TypeError for an unknown option, because a misspelt `dryRun` would store the record */
  async #write(options: UpdateOptions, request: ClientRequest): Promise<Item> {
    checkMembers(options, ["dryRun", "idempotencyKey", "ifMatch", "signal", "timeout"]);
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

/** Returns the `If-Match` header of a write, or undefined if `targets` are only IDs. @throws TypeError for a record of unknown version */
function toIfMatch(targets: readonly unknown[], options: UpdateOptions): string | undefined {
  if ("ifMatch" in options) {
    if (typeof options.ifMatch === "string") return options.ifMatch;
    throw new TypeError('`ifMatch` must be an ETag, or "*" to overwrite any version');
  }
  const records = targets.filter(isRecord);
  const etag = records.map(etagOf).find((tag) => tag !== undefined);
  if (etag !== undefined || records.length === 0) return etag;
  throw new TypeError(
    'the version of this record is unknown: read it with get(), or pass { ifMatch: etag }, or { ifMatch: "*" } to overwrite any version',
  );
}
