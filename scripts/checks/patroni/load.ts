// Clients that write and read during an event, and compare every response with the writes that were confirmed before.

import type { Engine } from "../../../src/model/engine.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { readAllRows } from "../../../src/store/database/read-all-rows.ts";
import type { SiteRecord } from "../../../src/system/system-records.ts";

export interface Shop {
  readonly site: SiteRecord;
  readonly host: string;
  readonly key: string;
}

/** The addresses of two servers. Clients write to and read from the first, and only read from the second. */
export interface Servers {
  readonly writing: string;
  readonly reading: string;
}

/** The effect of an event on the clients. */
export interface Figures {
  /** Number of confirmed writes. */
  readonly acknowledged: number;
  /** Number of confirmed writes that are not stored. */
  readonly lost: number;
  /** Number of writes that are stored twice. */
  readonly doubled: number;
  /** Number of reads. */
  readonly reads: number;
  /** Number of reads that lacked a write which was confirmed before the read began. */
  readonly stale: number;
  /** Seconds from the moment when the cluster had a primary again until the last stale read returned. */
  readonly staleFor: number;
  /** Number of lists that differ from the stored records after the event. */
  readonly wrong: number;
  /** The longest time without a confirmed write, in seconds. */
  readonly pause: number;
  /** Seconds from the promotion until the first confirmed write. */
  readonly afterPromotion: number;
  /** Seconds from the moment when the new primary had a standby, which it needs to confirm writes, until the first confirmed write. */
  readonly afterStandby: number;
}

const registers = [1, 2];
/** Milliseconds between two writes of a client, and before it repeats a request. */
const rest = 15;
/** Number of lists per server that are compared with the stored records. They are enough that each worker returns some. */
const comparedLists = 12;

export async function addShop(engine: Engine, name: string): Promise<Shop> {
  const host = `${name}.example`;
  const site = await createSite(engine, name, { hostnames: [host] }, Date.now());
  return { site, host, key: (await createKey(engine, site, {}, Date.now())).key };
}

/** Sends a request on a new connection, so that every worker gets some requests. */
export async function request(server: string, shop: Shop, method: string, path: string, body?: object, key?: string) {
  const headers = {
    ...{ Host: shop.host, "X-API-AUTH": shop.key, Connection: "close" },
    ...(key === undefined ? {} : { "Idempotency-Key": key }),
  };
  const init = {
    method,
    headers,
    signal: AbortSignal.timeout(15_000),
    ...(body ? { body: JSON.stringify(body) } : {}),
  };
  try {
    const response = await fetch(`${server}/restapi/${path}`, init);
    return { status: response.status, json: JSON.parse(await response.text()) };
  } catch {
    return { status: 0, json: undefined };
  }
}

export class Load {
  readonly #servers: Servers;
  /** The site in which brands are created. */
  readonly #created: Shop;
  /** The site in which a few brands are updated repeatedly. Their names are counters. */
  readonly #counted: Shop;
  /** The IDs of the brands with a confirmed create, by name. */
  #acknowledged = new Map<string, number>();
  /** The last value that was sent for a counter, and the last confirmed value, by ID of the brand. */
  readonly #sent = new Map(registers.map((id) => [id, 0]));
  readonly #confirmed = new Map(registers.map((id) => [id, 0]));
  #names = 0;
  #writes = 0;
  #reads = 0;
  #stale = 0;
  #staleAt = 0;
  #ackedAt = 0;
  #pause = 0;
  /** Time of the promotion. */
  #promotedAt: number | undefined;
  /** Time from which on a primary could confirm writes. */
  #readyAt = Number.POSITIVE_INFINITY;
  /** Time of the first write that it confirmed. */
  #backAt: number | undefined;
  #isRunning = false;
  #clients: Promise<void>[] = [];

  constructor(servers: Servers, shops: readonly [created: Shop, counted: Shop]) {
    this.#servers = servers;
    [this.#created, this.#counted] = shops;
  }

  async start(): Promise<void> {
    for (const id of registers) {
      if (this.#sent.get(id) === 0) await this.#retried("POST", "brands.json", { Name: "0" });
    }
    [this.#writes, this.#reads, this.#stale, this.#pause] = [0, 0, 0, 0];
    [this.#promotedAt, this.#readyAt, this.#backAt] = [undefined, Number.POSITIVE_INFINITY, undefined];
    this.#ackedAt = performance.now();
    this.#acknowledged = new Map();
    this.#isRunning = true;
    this.#clients = [
      ...[1, 2].map(() => this.#whileRunning(() => this.#create())),
      ...registers.map((id) => this.#whileRunning(() => this.#count(id))),
      ...[this.#servers.writing, this.#servers.reading, this.#servers.reading].flatMap((server) => [
        this.#whileRunning(() => this.#readCounts(server)),
        this.#whileRunning(() => this.#lookUp(server)),
      ]),
    ];
  }

  notePromotion(): void {
    this.#promotedAt = performance.now();
  }

  /** Call it when a primary can confirm writes. Waits until it has confirmed one. */
  async untilWritesAreBack(): Promise<void> {
    this.#readyAt = performance.now();
    while (this.#backAt === undefined) await Bun.sleep(20);
  }

  /** Stops the clients, and compares the confirmed writes with the stored records. */
  async stop(engine: Engine): Promise<Figures> {
    this.#isRunning = false;
    await Promise.all(this.#clients);
    const created = await namesIn(engine, this.#created);
    const counted = await namesIn(engine, this.#counted);
    const copies = Map.groupBy(created.values(), (name) => name);
    const isCountLost = (id: number) => Number(counted.get(id)) < (this.#confirmed.get(id) as number);
    return {
      acknowledged: this.#writes,
      lost:
        [...this.#acknowledged].filter(([name, id]) => created.get(id) !== name).length +
        registers.filter(isCountLost).length,
      doubled: [...copies.values()].filter(({ length }) => length > 1).length,
      reads: this.#reads,
      stale: this.#stale,
      staleFor: seconds(this.#stale === 0 ? 0 : Math.max(0, this.#staleAt - (this.#promotedAt ?? this.#readyAt))),
      wrong: (await this.#wrongLists(this.#created, created)) + (await this.#wrongLists(this.#counted, counted)),
      pause: seconds(this.#pause),
      afterPromotion: seconds(this.#backAt && this.#promotedAt ? this.#backAt - this.#promotedAt : 0),
      afterStandby: seconds(this.#backAt ? this.#backAt - this.#readyAt : 0),
    };
  }

  /** Returns the number of lists of the servers that differ from the stored records. */
  async #wrongLists(shop: Shop, stored: ReadonlyMap<number, string>): Promise<number> {
    const compared = Object.values(this.#servers).flatMap((server) =>
      Array.from({ length: comparedLists }, () => isWrong(server, shop, stored)),
    );
    return (await Promise.all(compared)).filter(Boolean).length;
  }

  async #whileRunning(work: () => Promise<void>): Promise<void> {
    while (this.#isRunning) await work();
  }

  /** Creates a brand. Repeats the request with the same `Idempotency-Key` until it is confirmed. */
  async #create(): Promise<void> {
    const name = `brand ${++this.#names}`;
    const created = await this.#retried("POST", "brands.json", { Name: name }, this.#created, crypto.randomUUID());
    this.#acknowledged.set(name, created.ID);
    await Bun.sleep(rest);
  }

  async #count(id: number): Promise<void> {
    const value = (this.#sent.get(id) as number) + 1;
    this.#sent.set(id, value);
    await this.#retried("PUT", `brands/${id}.json`, { Name: String(value) });
    this.#confirmed.set(id, value);
    await Bun.sleep(rest);
  }

  async #retried(method: string, path: string, body: object, shop = this.#counted, key?: string) {
    for (;;) {
      const { status, json } = await request(this.#servers.writing, shop, method, path, body, key);
      if (status === 200 || status === 201) {
        this.#noteAcknowledged();
        return json;
      }
      if (status !== 0 && status < 500 && status !== 409)
        throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
      await Bun.sleep(rest);
    }
  }

  #noteAcknowledged(): void {
    const now = performance.now();
    this.#writes++;
    this.#pause = Math.max(this.#pause, now - this.#ackedAt);
    this.#ackedAt = now;
    if (now >= this.#readyAt) this.#backAt ??= now;
  }

  async #readCounts(server: string): Promise<void> {
    const least = new Map(this.#confirmed);
    const { status, json } = await request(server, this.#counted, "GET", "brands.json");
    if (status !== 200) return Bun.sleep(rest);
    this.#reads++;
    const found = new Map((json as { ID: number; Name: string }[]).map(({ ID, Name }) => [ID, Number(Name)]));
    if (registers.some((id) => !((found.get(id) ?? -1) >= (least.get(id) as number)))) this.#noteStale();
  }

  /** Looks up the brand of the last confirmed create. */
  async #lookUp(server: string): Promise<void> {
    const [name, id] = [...this.#acknowledged].at(-1) ?? [];
    if (id === undefined) return Bun.sleep(rest);
    const { status, json } = await request(server, this.#created, "GET", `brands/${id}.json`);
    if (status !== 200 && status !== 404) return Bun.sleep(rest);
    this.#reads++;
    if (status === 404 || json.Name !== name) this.#noteStale();
  }

  #noteStale(): void {
    this.#stale++;
    this.#staleAt = performance.now();
  }
}

/** Reads a list from a server. Returns whether it differs from the stored records. */
export async function isWrong(server: string, shop: Shop, stored: ReadonlyMap<number, string>): Promise<boolean> {
  const { status, json } = await request(server, shop, "GET", "brands.json");
  const listed = status === 200 && (json as { ID: number; Name: string }[]).map(({ ID, Name }) => [ID, Name]);
  return JSON.stringify(listed) !== JSON.stringify([...stored]);
}

/** Reads the names of the stored brands, by ID. */
export async function namesIn(engine: Engine, { site }: Shop): Promise<Map<number, string>> {
  const { rows } = await readAllRows(engine, site.ID);
  return new Map(rows.flatMap(({ id, body }) => (body === null ? [] : [[id, JSON.parse(body).Name] as const])));
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds / 100) / 10;
}
