import postgres from "postgres";
import { outdated } from "../database/site-state.ts";
import { type DatabaseAddress, type Host, nameOf } from "./address.ts";
import { codeOf, unavailable } from "./errors.ts";

// biome-ignore lint/suspicious/noExplicitAny: whatever the statement selects
export type ResultRow = Record<string, any>;

/** Milliseconds that a host has at most to accept a connection. A command may give a call more time than that, but a host that is down stays down. */
const maxConnectTime = 10_000;

interface ConnectionOptions {
  /** Whether the host may be a standby. */
  readonly mayBeStandby?: boolean;
  /** Called whenever someone begins to use the connection. */
  readonly onUse?: () => void;
}

/**
 * Connects to a host that is a primary, unless `mayBeStandby`.
 * @throws what went wrong, or Refusal `unavailable` when it is no primary or does not respond in time
 */
export async function connect(
  host: Host,
  address: DatabaseAddress,
  options: ConnectionOptions = {},
): Promise<PostgresConnection> {
  const connection = new PostgresConnection(host, address, options);
  await connection.begin(Math.min(address.timeout, maxConnectTime));
  return connection;
}

/**
 * One connection to the database, used by one caller at a time. It is never opened again once it is lost: what belongs to one
 * transaction must not continue in another session, as it would with a pool that reconnects by itself.
 */
export class PostgresConnection {
  /** The host's name and port. */
  readonly host: string;
  /** When connecting began, in milliseconds as of `performance.now()`. */
  readonly openedAt = performance.now();
  /** Resolves when the database has closed it too: then nothing that was sent over it is still under way there. */
  readonly ended: Promise<void>;
  readonly #prepare: boolean;
  readonly #driver: postgres.Sql;
  #session: postgres.ReservedSql | undefined;
  #timeline = 0;
  #isOpen = true;
  /** Whether it was closed because its host was replaced, also before anyone used it. */
  #isReplaced = false;
  #warning: string | undefined;
  #onLost: ((error: Error) => void) | undefined;
  #onNotify: ((payload: string) => void) | undefined;
  readonly #onUse: (() => void) | undefined;

  /** Nothing is sent before `begin`. */
  constructor(host: Host, address: DatabaseAddress, { mayBeStandby = false, onUse }: ConnectionOptions = {}) {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.host = nameOf(host);
    this.ended = ended;
    this.#prepare = address.prepare;
    this.#onUse = onUse;
    this.#driver = postgres({
      ...driverOptions(host, address),
      ...(mayBeStandby ? {} : { target_session_attrs: "primary" as const }),
      // The types of postgres.js have this option only in its own `listen`, which opens another connection and reconnects by itself.
      ...{ onnotify: (_channel: string, payload: string) => this.#onNotify?.(payload) },
      onnotice: ({ severity, message }) => {
        if (severity === "WARNING") this.#warning = message;
      },
      onclose: () => {
        this.#isOpen = false;
        end();
        this.#onLost?.(this.#lostError());
      },
    });
  }

  /** Connects. `timeout` is in milliseconds. @throws as `connect` does */
  async begin(timeout: number): Promise<void> {
    let isLate = false;
    // The limit of postgres.js ends with the handshake; the host may hang right after it.
    const limit = setTimeout(() => {
      isLate = true;
      void this.close();
    }, timeout);
    try {
      // postgres.js reserves only a connection that has been used.
      this.#timeline = await readTimeline(this.#driver);
      this.#session = await this.#driver.reserve();
    } catch (error) {
      void this.close();
      if (isLate) throw unavailable(`${this.host} did not respond within ${timeout} ms`, error);
      throw codeOf(error) === "CONNECTION_DESTROYED" ? unavailable(`${this.host} is not the primary`, error) : error;
    } finally {
      clearTimeout(limit);
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether someone uses it, and is to be told when it is lost. */
  get isUsed(): boolean {
    return this.#onLost !== undefined && this.#isOpen;
  }

  /** The number of promotions in the host's history, counted from 1, when it was last read; 0 for a standby, and for an engine that does not report it. */
  get timeline(): number {
    return this.#timeline;
  }

  /** Reads it again: that of a standby changes when it is promoted. */
  async readTimeline(): Promise<number> {
    this.#timeline = await readTimeline(this.#openSession());
    return this.#timeline;
  }

  /** Sends statements without parameters in one message. Returns the rows of each that returns rows. */
  async script(text: string): Promise<ResultRow[][]> {
    return rowSets(await this.#openSession().unsafe(text).simple());
  }

  /** Sends one statement, `parameters` being its `$1` and so on; one that is a JSON value is for `$1::json`. */
  async query(text: string, ...parameters: (string | number | readonly object[])[]): Promise<ResultRow[]> {
    // The driver's type has no array of objects: the database asks for JSON, and the driver sends JSON.
    return this.#openSession().unsafe(text, parameters as unknown as string[], { prepare: this.#prepare });
  }

  /** The rows of one statement, `size` at a time; only in a transaction. */
  async *pages(text: string, size: number): AsyncGenerator<ResultRow[]> {
    // Not by the cursor of postgres.js, whose `next()` is no promise at the end, and which takes a lost connection for the end.
    await this.script(`declare pages no scroll cursor for ${text}`);
    for (let isLast = false; !isLast; ) {
      const [page = []] = await this.script(`fetch ${size} from pages`);
      if (page.length > 0) yield page;
      isLast = page.length < size;
    }
    await this.script("close pages");
  }

  /** Returns what the database warned of since the last call, and forgets it. */
  takeWarning(): string | undefined {
    const warning = this.#warning;
    this.#warning = undefined;
    return warning;
  }

  /** Calls `listener`, in place of the one before, when the connection is lost; undefined to call none. */
  onLost(listener: ((error: Error) => void) | undefined): void {
    this.#onLost = listener;
    if (listener) this.#onUse?.();
    if (!this.#isOpen) listener?.(this.#lostError());
  }

  /** Calls `listener`, in place of the one before, with each notification that the session listens for; undefined to call none. */
  onNotify(listener: ((payload: string) => void) | undefined): void {
    this.#onNotify = listener;
  }

  /** Closes it at once, also while it is used: its host was replaced. */
  leave(): void {
    this.#isReplaced = true;
    const listener = this.#onLost;
    void this.close();
    listener?.(this.#lostError());
  }

  /** Resolves at once, also when the database hangs. */
  close(): Promise<void> {
    this.#isOpen = false;
    return this.#driver.end({ timeout: 0 });
  }

  #openSession() {
    if (!this.#isOpen || !this.#session) throw this.#lostError();
    return this.#session;
  }

  #lostError(): Error {
    if (this.#isReplaced) return unavailable(`${this.host} is no longer the primary`, { code: outdated });
    return unavailable(`the connection to the database at ${this.host} was lost`, { code: "CONNECTION_CLOSED" });
  }
}

function driverOptions(host: Host, { database, user, password, tls, prepare, timeout }: DatabaseAddress) {
  return {
    ...host,
    ...(database === undefined ? {} : { database }),
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ssl: tls,
    max: 1,
    prepare,
    fetch_types: false,
    connect_timeout: Math.min(timeout, maxConnectTime) / 1000,
    // Only for a connection that was never reserved: one in use is not idle in this sense.
    idle_timeout: 60,
    max_lifetime: null,
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: { application_name: "storefront" },
  };
}

/** The rows of each statement. postgres.js returns one result for one statement and a list of results for several, those without rows among them. */
function rowSets(results: ResultRow): ResultRow[][] {
  const all = ("command" in results ? [results] : results) as (ResultRow[] & { columns?: unknown })[];
  return all.filter((result) => Boolean(result.columns)).map((result) => [...result]);
}

/**
 * The timeline that the host writes to, the first statement on a connection: the first 8 digits of a WAL file's name, in
 * hexadecimal; 0 for a standby. Engines without WAL files do not have the functions.
 */
async function readTimeline(driver: Pick<postgres.Sql, "unsafe">): Promise<number> {
  try {
    const [row] = await driver.unsafe(
      "select case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end as name",
    );
    return Number.parseInt(String(row?.name).slice(0, 8), 16) || 0;
  } catch (error) {
    // The other severities are those of a connection that was refused.
    if ((error as { severity?: string }).severity === "ERROR") return 0;
    throw error;
  }
}

interface TimeLimit {
  /** Never resolves. Rejects when the time is over, or with the error given to `fail`. */
  readonly passed: Promise<never>;
  readonly fail: (error: Error) => void;
  /** Starts the time again from 0. */
  readonly restart: () => void;
  readonly stop: () => void;
}

/** Starts a limit for what the database is asked; at the end, `passed` rejects with Refusal `unavailable`. */
export function createTimeLimit(milliseconds: number): TimeLimit {
  const { promise: passed, reject: fail } = Promise.withResolvers<never>();
  passed.catch(() => {});
  const expire = () => fail(unavailable(`the database did not respond within ${milliseconds} ms`));
  let timer = setTimeout(expire, milliseconds);
  return {
    passed,
    fail,
    restart: () => {
      clearTimeout(timer);
      timer = setTimeout(expire, milliseconds);
    },
    stop: () => clearTimeout(timer),
  };
}
