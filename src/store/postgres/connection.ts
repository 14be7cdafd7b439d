// One connection to a database server, which never reconnects. Also the time limit of a call.

import postgres from "postgres";
import { unavailableError } from "../../model/errors.ts";
import { storeBehindCode } from "../database/required-head.ts";
import { type DatabaseAddress, type Host, isSocket, nameOf } from "./address.ts";
import { codeOf, unresponsiveError } from "./errors.ts";

// biome-ignore lint/suspicious/noExplicitAny: whatever the statement selects
export type ResultRow = Record<string, any>;

/** Maximum milliseconds until a host accepts a connection. A command may allow more time for a call, but waiting longer for a host does not help. */
const maxConnectMs = 10_000;

/** postgres.js writes a message of this size at once. It collects shorter ones until the next tick (`setImmediate`). */
const sentAtOnceBytes = 1024;

interface ConnectionOptions {
  /** Whether the host may be a standby. */
  readonly mayBeStandby?: boolean;
  /** Called when a caller starts to use the connection. */
  readonly onUse?: () => void;
}

/**
 * Connects to a host. The host must be a primary, unless `mayBeStandby`.
 * @throws ProblemError `unavailable` if the host is not a primary or does not respond in time; for other failures, the error of postgres.js
 */
export async function connect(
  host: Host,
  address: DatabaseAddress,
  options: ConnectionOptions = {},
): Promise<PostgresConnection> {
  const connection = new PostgresConnection(host, address, options);
  await connection.connect(Math.min(address.timeoutMs, maxConnectMs));
  return connection;
}

/**
 * One connection to the database, used by one caller at a time. A lost connection is never opened again, because a transaction must not continue in
 * another session. That could happen with the pool of postgres.js, which reconnects automatically.
 */
export class PostgresConnection {
  /** The host's name and port. */
  readonly host: string;
  /** When connecting began, in milliseconds as of `performance.now()`. */
  readonly openedAt = performance.now();
  /** Resolves when the database has closed the connection too. Then the database does not execute anything any more that was sent over it. */
  readonly ended: Promise<void>;
  readonly #prepare: boolean;
  readonly #driver: postgres.Sql;
  #session: postgres.ReservedSql | undefined;
  #timeline = 0;
  #isPooled = false;
  #isOpen = true;
  /** Whether the connection was closed because another host has replaced its host as the primary. */
  #isReplaced = false;
  #warning: string | undefined;
  #onLost: ((error: Error) => void) | undefined;
  #onNotify: ((payload: string) => void) | undefined;
  readonly #onUse: (() => void) | undefined;

  /** Does not connect yet: nothing is sent before `connect`. */
  constructor(host: Host, address: DatabaseAddress, { mayBeStandby = false, onUse }: ConnectionOptions = {}) {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.host = nameOf(host);
    this.ended = ended;
    this.#prepare = address.prepare;
    this.#onUse = onUse;
    this.#driver = postgres({
      ...driverOptions(host, address),
      ...(mayBeStandby ? {} : { target_session_attrs: "primary" as const }),
      // In the types of postgres.js, only its `listen` has this option. But `listen` opens another connection, and reconnects automatically.
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

  /** Connects. @throws as `connect` does */
  async connect(timeoutMs: number): Promise<void> {
    let isLate = false;
    // The time limit of postgres.js ends with the handshake, but the host may hang right after it.
    const limit = setTimeout(() => {
      isLate = true;
      void this.close();
    }, timeoutMs);
    try {
      // postgres.js reserves only a connection that has been used.
      ({ timeline: this.#timeline, isPooled: this.#isPooled } = await readHost(this.#driver));
      this.#session = await this.#driver.reserve();
    } catch (error) {
      void this.close();
      if (isLate) throw unavailableError(`${this.host} did not respond within ${timeoutMs} ms`, error);
      throw codeOf(error) === "CONNECTION_DESTROYED"
        ? unavailableError(`${this.host} is not the primary`, error)
        : error;
    } finally {
      clearTimeout(limit);
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether a caller uses the connection. */
  get isUsed(): boolean {
    return this.#onLost !== undefined && this.#isOpen;
  }

  /** The timeline that was last read of the host, from 1 (timelines.ts); 0 for a standby, and for a database that does not report timelines. */
  get timeline(): number {
    return this.#timeline;
  }

  /** Reads the timeline again, because a standby has another one after it is promoted. */
  async readTimeline(): Promise<number> {
    ({ timeline: this.#timeline } = await readHost(this.#openSession()));
    return this.#timeline;
  }

  /** Whether a pooler is in between: it gives its clients other keys for cancelling than those of the sessions that they get. */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  /** Sends statements without parameters in one message. Returns the rows of each statement that returns rows. */
  async script(text: string): Promise<ResultRow[][]> {
    return rowSets(await this.#openSession().unsafe(text).simple());
  }

  /** Sends statements as `script` does, but at once, and not after all other events of this tick. */
  scriptAtOnce(text: string): Promise<ResultRow[][]> {
    return this.script(text.padEnd(sentAtOnceBytes));
  }

  /** Sends one statement with `parameters` for its `$1`, `$2` and so on. A list of objects is sent as JSON, for `$1::json`. */
  async query(text: string, ...parameters: (string | number | readonly object[])[]): Promise<ResultRow[]> {
    // The type of the driver does not allow a list of objects. But the database asks for JSON, and the driver then sends JSON.
    return this.#openSession().unsafe(text, parameters as unknown as string[], { prepare: this.#prepare });
  }

  /** Prepares and executes a statement. Returns the name that the driver has given it. */
  async prepare(text: string, ...parameters: number[]): Promise<string> {
    return (await this.#openSession().unsafe(text, parameters, { prepare: true })).statement.name;
  }

  /** Reads the rows of one statement, at most `size` at a time. Call this only in a transaction. */
  async *pages(text: string, size: number): AsyncGenerator<ResultRow[]> {
    // Do not use the cursor of postgres.js: its `next()` does not return a promise at the end, and it takes a lost connection for the end.
    await this.script(`declare pages no scroll cursor for ${text}`);
    for (let isLast = false; !isLast; ) {
      const [page = []] = await this.script(`fetch ${size} from pages`);
      if (page.length > 0) yield page;
      isLast = page.length < size;
    }
    await this.script("close pages");
  }

  /** Returns the last warning of the database since the last call of this method, if any. */
  takeWarning(): string | undefined {
    const warning = this.#warning;
    this.#warning = undefined;
    return warning;
  }

  /** Sets or removes the function that is called when the connection is lost. If it is lost already, calls `listener` at once. */
  onLost(listener: ((error: Error) => void) | undefined): void {
    this.#onLost = listener;
    if (listener) this.#onUse?.();
    if (!this.#isOpen) listener?.(this.#lostError());
  }

  /** Sets or removes the function that is called with each notification that the session listens to. */
  onNotify(listener: ((payload: string) => void) | undefined): void {
    this.#onNotify = listener;
  }

  /** Closes the connection at once, even if a caller uses it, because another host has replaced its host as the primary. */
  leave(): void {
    this.#isReplaced = true;
    const listener = this.#onLost;
    void this.close();
    listener?.(this.#lostError());
  }

  /** Closes the connection. Resolves at once, even if the database hangs. */
  close(): Promise<void> {
    this.#isOpen = false;
    return this.#driver.end({ timeout: 0 });
  }

  #openSession() {
    if (!this.#isOpen || !this.#session) throw this.#lostError();
    return this.#session;
  }

  #lostError(): Error {
    if (this.#isReplaced) return unavailableError(`${this.host} is no longer the primary`, { code: storeBehindCode });
    return unavailableError(`the connection to the database at ${this.host} was lost`, { code: "CONNECTION_CLOSED" });
  }
}

function driverOptions(host: Host, { database, user, password, tls, prepare, options, timeoutMs }: DatabaseAddress) {
  return {
    ...host,
    ...(database === undefined ? {} : { database }),
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    // As in libpq, a Unix socket has no TLS.
    ssl: isSocket(host.host) ? false : tls,
    max: 1,
    prepare,
    fetch_types: false,
    connect_timeout: Math.min(timeoutMs, maxConnectMs) / 1000,
    // This closes only a connection that was never reserved: for postgres.js, a reserved connection is not idle.
    idle_timeout: 60,
    max_lifetime: null,
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: { application_name: "storefront", ...(options === undefined ? {} : { options }) },
  };
}

/** Returns the rows of each statement that returns rows. postgres.js returns one result for one statement, but a list of all results for several. */
function rowSets(results: ResultRow): ResultRow[][] {
  const all = ("command" in results ? [results] : results) as (ResultRow[] & { columns?: unknown })[];
  return all.filter((result) => Boolean(result.columns)).map((result) => [...result]);
}

/**
 * Reads the timeline that the host writes to: the first 8 digits of the name of a WAL file, in hexadecimal. It is 0 for a standby, and for a
 * database without WAL files, which lacks these functions. Also reads whether a pooler is in between. This is the first statement on a connection.
 */
async function readHost(driver: Pick<postgres.Sql, "unsafe">): Promise<{ timeline: number; isPooled: boolean }> {
  try {
    const rows = await driver.unsafe(
      "select case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end as name, pg_backend_pid() as pid",
    );
    const timeline = Number.parseInt(String(rows[0]?.name).slice(0, 8), 16) || 0;
    return { timeline, isPooled: rows[0]?.pid !== rows.state.pid };
  } catch (error) {
    // Any other severity means that the host does not accept the connection.
    if ((error as { severity?: string }).severity === "ERROR") return { timeline: 0, isPooled: true };
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

/**
 * Starts a time limit for calls of the database. When the time is over, `passed` rejects with ProblemError `unavailable`.
 * @param firstMs milliseconds until the first restart, if part of the time is over already
 */
export function createTimeLimit(milliseconds: number, firstMs = milliseconds): TimeLimit {
  const { promise: passed, reject: fail } = Promise.withResolvers<never>();
  passed.catch(() => {});
  const expire = () => fail(unresponsiveError(milliseconds));
  let timer = setTimeout(expire, firstMs);
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
