import type { CallOptions, Send } from "./send.ts";

/** What a list may be asked for, by the paths of the record's fields. */
export interface Query<Path extends string> {
  /** A text that the field must equal, or contain without regard to case. Several must all hold. */
  readonly filter?: { readonly [P in Path]?: string | number | { readonly contains: string } };
  /** Fields to sort by, `-` before one for descending. */
  readonly sort?: Path | `-${Path}` | readonly (Path | `-${Path}`)[];
  readonly limit?: number;
  readonly offset?: number;
}

/** Records, and how many there are without `limit` and `offset`. */
export type List<Item> = Item[] & { readonly total: number };

/** A record with only some of its fields. */
export type Part<Item extends { readonly ID: number }> = Pick<Item, "ID"> & Partial<Item>;

export interface AllOptions extends CallOptions {
  /** Records per request, 2 to 1000; 500 unless said. */
  readonly pageSize?: number;
}

/** Which record: its ID, or the record itself as `get`, `create` or `update` gave it. */
export type Target<Item> = number | Item;

export interface UpdateOptions extends CallOptions {
  /** `false`: change it whatever it has become since it was read. */
  readonly ifUnchanged?: boolean;
}

/** Records that can be read. */
export class ReadCollection<Item extends { readonly ID: number }, Path extends string> {
  protected readonly send: Send;
  protected readonly path: string;
  readonly #etags = new WeakMap<object, string>();

  constructor(send: Send, path: string) {
    this.send = send;
    this.path = path;
  }

  /** Every record, or those that `query` asks for. With `fields`, records have only those. */
  list(query?: Query<Path>, options?: CallOptions): Promise<List<Item>>;
  list(
    query: Query<Path> & { readonly fields: readonly (Path | keyof Item)[] },
    options?: CallOptions,
  ): Promise<List<Part<Item>>>;
  async list(query: Query<Path> & { readonly fields?: readonly unknown[] } = {}, options: CallOptions = {}) {
    const search = toSearch(query).toString();
    const { headers, body } = await this.send({ ...options, path: `${this.path}.json${search && `?${search}`}` });
    return Object.assign(body as Item[], { total: Number(headers.get("X-Total-Count")) });
  }

  /**
   * Every record that `query` asks for, in ID order, a page at a time. None is missed and none comes twice, even when
   * others change the list meanwhile.
   */
  async *all(query: Pick<Query<Path>, "filter"> = {}, options: AllOptions = {}): AsyncGenerator<Item, void> {
    const { pageSize = 500, ...rest } = options;
    const limit = Math.max(2, pageSize);
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
      if (offset + page.length >= page.total) return;
      offset += page.length - 1;
    }
  }

  /** The record with this ID. Throws a StorefrontProblem with the code `not-found` when there is none. */
  async get(id: number, options: CallOptions = {}): Promise<Item> {
    return this.keep(await this.send({ ...options, path: `${this.path}/${id}.json` }));
  }

  /** The record of an answer; its ETag is remembered as long as the record is. */
  protected keep({ headers, body }: { headers: Headers; body: unknown }): Item {
    const etag = headers.get("ETag");
    if (etag) this.#etags.set(body as object, etag);
    return body as Item;
  }

  protected etagOf(target: Target<Item>): string | undefined {
    return typeof target === "object" ? this.#etags.get(target) : undefined;
  }
}

/** Records that can be read and written. */
export class WriteCollection<
  Item extends { readonly ID: number },
  Path extends string,
  New extends object,
> extends ReadCollection<Item, Path> {
  /** Creates a record; what `values` leave out is empty. */
  async create(values: New, options: CallOptions = {}): Promise<Item> {
    return this.keep(await this.send({ ...options, method: "POST", path: `${this.path}.json`, body: values }));
  }

  /**
   * Changes the fields in `changes`, and returns the record as it then is. Where a record is given instead of an ID, and
   * it has changed on the server since it was read, a StorefrontProblem with the code `precondition-failed` is thrown.
   */
  update(id: number, changes: Partial<New>, options?: UpdateOptions): Promise<Item>;
  update(record: Item, changes?: Partial<New>, options?: UpdateOptions): Promise<Item>;
  async update(target: Target<Item>, changes: object = target as Item, options: UpdateOptions = {}): Promise<Item> {
    return this.keep(await this.#write("PUT", target, changes, options));
  }

  /** Deletes the record, and returns it as it was; for a record instead of an ID as in `update`. */
  async delete(target: Target<Item>, options: UpdateOptions = {}): Promise<Item> {
    return (await this.#write("DELETE", target, undefined, options)).body as Item;
  }

  #write(method: "PUT" | "DELETE", target: Target<Item>, body: object | undefined, options: UpdateOptions) {
    const { ifUnchanged = true, ...rest } = options;
    const id = typeof target === "object" ? target.ID : target;
    const etag = ifUnchanged ? this.etagOf(target) : undefined;
    return this.send({ ...rest, method, path: `${this.path}/${id}.json`, body, etag });
  }
}

function toSearch({
  filter = {},
  sort = [],
  fields = [],
  limit,
  offset,
}: Query<string> & { fields?: readonly unknown[] }) {
  const search = new URLSearchParams();
  for (const [path, value] of Object.entries(filter)) {
    if (typeof value === "object") search.append(`filter[${path}][contains]`, value.contains);
    else if (value !== undefined) search.append(`filter[${path}]`, String(value));
  }
  const order = [sort].flat().join();
  if (order) search.set("sort", order);
  if (fields.length > 0) search.set("fields", fields.join());
  if (limit !== undefined) search.set("limit", String(limit));
  if (offset) search.set("offset", String(offset));
  return search;
}
