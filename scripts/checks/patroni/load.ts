// Clients that write and read during an event, and compare every response with the writes confirmed so far.

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

/** Clients write to and read from the first server, and only read from the second. */
export interface Servers {
  readonly writing: string;
  readonly reading: string;
}

/** How an event affected the clients. */
export interface Figures {
  /** Confirmed writes. */
  readonly acknowledged: number;
  /** Confirmed writes that aren't stored. */
  readonly lost: number;
  /** Writes that were stored twice. */
  readonly doubled: number;
  readonly reads: number;
  /** Reads that lacked a write confirmed before they started. */
  readonly stale: number;
  /** Seconds from when the cluster had a primary again to the last stale read. */
  readonly staleFor: number;
  /** Lists that differ from the stored records after the event. */
  readonly wrong: number;
  /** Longest time without a confirmed write, in seconds. */
  readonly pause: number;
  /** Seconds from the promotion to the first confirmed write. */
  readonly afterPromotion: number;
  /** Seconds from when the new primary had the standby it needs to confirm writes to the first confirmed write. */
  readonly afterStandby: number;
}

const registers = [1, 2];
/** Milliseconds between a client's writes, and before it repeats a request. */
const rest = 15;
/** Lists per server that we compare with the stored records, enough for every worker to return some. */
const comparedLists = 12;

export async function addShop(engine: Engine, name: string): Promise<Shop> {
  const host = `${name}.example`;
  const site = await createSite(engine, name, { hostnames: [host] }, Date.now());
  return { site, host, key: (await createKey(engine, site, {}, Date.now())).key };
}

/** Uses a new connection, so that every worker gets some requests. */
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
  /** Where brands are created. */
  readonly #created: Shop;
  /** Where a few brands are updated over and over. Their names are counters. */
  readonly #counted: Shop;
  /** IDs of brands whose create was confirmed, by name. */
  #acknowledged = new Map<string, number>();
  /** A counter's last value sent, and the last confirmed, by brand ID. */
  readonly #sent = new Map(registers.map((id) => [id, 0]));
  readonly #confirmed = new Map(registers.map((id) => [id, 0]));
  #names = 0;
  #writes = 0;
  #reads = 0;
  #stale = 0;
  #staleAt = 0;
  #ackedAt = 0;
  #pause = 0;
  #promotedAt: number | undefined;
  /** When a primary could confirm writes. */
  #readyAt = Number.POSITIVE_INFINITY;
  /** When it confirmed the first write. */
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

  /** Call this when a primary can confirm writes. Waits until it has confirmed one. */
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

  /** Returns how many of the servers' lists differ from the stored records. */
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

  /** Looks up the last brand whose create was confirmed. */
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

/** Returns whether a server's list differs from the stored records. */
export async function isWrong(server: string, shop: Shop, stored: ReadonlyMap<number, string>): Promise<boolean> {
  const { status, json } = await request(server, shop, "GET", "brands.json");
  const listed = status === 200 && (json as { ID: number; Name: string }[]).map(({ ID, Name }) => [ID, Name]);
  return JSON.stringify(listed) !== JSON.stringify([...stored]);
}

/** Returns the stored brands' names by ID. */
export async function namesIn(engine: Engine, { site }: Shop): Promise<Map<number, string>> {
  const { rows } = await readAllRows(engine, site.ID);
  return new Map(rows.flatMap(({ id, body }) => (body === null ? [] : [[id, JSON.parse(body).Name] as const])));
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds / 100) / 10;
}
