// A connection to a database server, which never reconnects, and the time limit of a call.

import postgres from "postgres";
import { unavailableError } from "../../model/errors.ts";
import { storeBehindCode } from "../database/required-head.ts";
import { type DatabaseAddress, type Host, isSocket, nameOf } from "./address.ts";
import { codeOf, unresponsiveError } from "./errors.ts";

// biome-ignore lint/suspicious/noExplicitAny: whatever the statement selects
export type ResultRow = Record<string, any>;

/** How long to wait for a host to accept a connection. A command may allow more time per call, but waiting longer for a host doesn't help. */
const maxConnectMs = 10_000;

/** postgres.js sends a message of this size right away. It collects shorter ones until the next tick (`setImmediate`). */
const sentAtOnceBytes = 1024;

interface ConnectionOptions {
  /** Whether the host may be a standby. */
  readonly mayBeStandby?: boolean;
  /** Called when a caller starts to use the connection. */
  readonly onUse?: () => void;
}

/**
 * Connects to a host, which must be a primary unless `mayBeStandby`.
 * @throws ProblemError `unavailable` if the host isn't a primary or doesn't respond in time; for other failures, the error of postgres.js
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
 * A connection to the database, used by one caller at a time. Once lost, it's never opened again, because a transaction mustn't continue in another
 * session. With the pool of postgres.js, which reconnects automatically, that could happen.
 */
export class PostgresConnection {
  /** The host's name and port. */
  readonly host: string;
  /** When we started connecting, by `performance.now()`. */
  readonly openedAt = performance.now();
  /** Resolves when the database has closed the connection too, so nothing sent over it is still being executed. */
  readonly ended: Promise<void>;
  readonly #prepare: boolean;
  readonly #driver: postgres.Sql;
  #session: postgres.ReservedSql | undefined;
  #timeline = 0;
  #isPooled = false;
  #isOpen = true;
  /** Whether it was closed because another host took over as the primary. */
  #isReplaced = false;
  #warning: string | undefined;
  #onLost: ((error: Error) => void) | undefined;
  #onNotify: ((payload: string) => void) | undefined;
  readonly #onUse: (() => void) | undefined;

  /** Nothing is sent before `connect`. */
  constructor(host: Host, address: DatabaseAddress, { mayBeStandby = false, onUse }: ConnectionOptions = {}) {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.host = nameOf(host);
    this.ended = ended;
    this.#prepare = address.prepare;
    this.#onUse = onUse;
    this.#driver = postgres({
      ...driverOptions(host, address),
      ...(mayBeStandby ? {} : { target_session_attrs: "primary" as const }),
      // postgres.js only declares this option for its `listen`, which opens another connection and reconnects automatically.
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

  /** @throws like `connect` */
  async connect(timeoutMs: number): Promise<void> {
    let isLate = false;
    // The time limit of postgres.js ends with the handshake, but the host may hang right after it.
    const limit = setTimeout(() => {
      isLate = true;
      void this.close();
    }, timeoutMs);
    try {
      // postgres.js only reserves a connection that has been used.
      ({ timeline: this.#timeline, isPooled: this.#isPooled } = await readHost(this.#driver));
      this.#session = await this.#driver.reserve();
    } catch (error) {
      void this.close();
      if (isLate) throw unavailableError(`${this.host} did not respond within ${timeoutMs} ms`, error);
      throw codeOf(error) === "CONNECTION_DESTROYED"
        ? unavailableError(`${this.host} isn't the primary`, error)
        : error;
    } finally {
      clearTimeout(limit);
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether a caller is using the connection. */
  get isUsed(): boolean {
    return this.#onLost !== undefined && this.#isOpen;
  }

  /** The host's timeline when last read, from 1 (timelines.ts); 0 for a standby, or a database that doesn't report timelines. */
  get timeline(): number {
    return this.#timeline;
  }

  /** Reads the timeline again, because a standby gets a new one when promoted. */
  async readTimeline(): Promise<number> {
    ({ timeline: this.#timeline } = await readHost(this.#openSession()));
    return this.#timeline;
  }

  /** Whether there's a pooler in between. It gives clients keys for cancelling that aren't those of the sessions they get. */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  /** Sends statements without parameters in one message. Returns the rows of each statement that returns rows. */
  async script(text: string): Promise<ResultRow[][]> {
    return rowSets(await this.#openSession().unsafe(text).simple());
  }

  /** Like `script`, but sends right away instead of after this tick's other events. */
  scriptAtOnce(text: string): Promise<ResultRow[][]> {
    return this.script(text.padEnd(sentAtOnceBytes));
  }

  /** Sends a statement with `parameters` for its `$1`, `$2` and so on. A list of objects is sent as JSON, for `$1::json`. */
  async query(text: string, ...parameters: (string | number | readonly object[])[]): Promise<ResultRow[]> {
    // The driver's type doesn't allow a list of objects, but it sends JSON when the database asks for it.
    return this.#openSession().unsafe(text, parameters as unknown as string[], { prepare: this.#prepare });
  }

  /** Prepares and executes a statement. Returns the name given to it by the driver. */
  async prepare(text: string, ...parameters: number[]): Promise<string> {
    return (await this.#openSession().unsafe(text, parameters, { prepare: true })).statement.name;
  }

  /** Reads a statement's rows, up to `size` at a time. Only use this in a transaction. */
  async *pages(text: string, size: number): AsyncGenerator<ResultRow[]> {
    // Don't use the cursor of postgres.js: its `next()` doesn't return a promise at the end, and it takes a lost connection for the end.
    await this.script(`declare pages no scroll cursor for ${text}`);
    for (let isLast = false; !isLast; ) {
      const [page = []] = await this.script(`fetch ${size} from pages`);
      if (page.length > 0) yield page;
      isLast = page.length < size;
    }
    await this.script("close pages");
  }

  /** Returns the database's last warning since the last call, if any. */
  takeWarning(): string | undefined {
    const warning = this.#warning;
    this.#warning = undefined;
    return warning;
  }

  /** Sets or removes the function to call when the connection is lost. If it already is, calls `listener` right away. */
  onLost(listener: ((error: Error) => void) | undefined): void {
    this.#onLost = listener;
    if (listener) this.#onUse?.();
    if (!this.#isOpen) listener?.(this.#lostError());
  }

  /** Sets or removes the function to call with each notification that the session listens to. */
  onNotify(listener: ((payload: string) => void) | undefined): void {
    this.#onNotify = listener;
  }

  /** Closes the connection even if it's in use, because another host took over as the primary. */
  leave(): void {
    this.#isReplaced = true;
    const listener = this.#onLost;
    void this.close();
    listener?.(this.#lostError());
  }

  /** Closes the connection. Resolves right away, even if the database hangs. */
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
    // As in libpq, Unix sockets don't use TLS.
    ssl: isSocket(host.host) ? false : tls,
    max: 1,
    prepare,
    fetch_types: false,
    connect_timeout: Math.min(timeoutMs, maxConnectMs) / 1000,
    // Only affects connections that were never reserved, because postgres.js doesn't consider reserved ones idle.
    idle_timeout: 60,
    max_lifetime: null,
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: { application_name: "storefront", ...(options === undefined ? {} : { options }) },
  };
}

/**
 * Returns the rows of each statement that returns rows. For a single statement, postgres.js returns one result; for several, a list of all results.
 */
function rowSets(results: ResultRow): ResultRow[][] {
  const all = ("command" in results ? [results] : results) as (ResultRow[] & { columns?: unknown })[];
  return all.filter((result) => Boolean(result.columns)).map((result) => [...result]);
}

/**
 * Reads the timeline that the host writes to: the first 8 hexadecimal digits of a WAL file's name. It's 0 for a standby, and for a database without
 * WAL files, which doesn't have these functions. Also finds out whether there's a pooler in between. This is the first statement on a connection.
 */
async function readHost(driver: Pick<postgres.Sql, "unsafe">): Promise<{ timeline: number; isPooled: boolean }> {
  try {
    const rows = await driver.unsafe(
      "select case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end as name, pg_backend_pid() as pid",
    );
    const timeline = Number.parseInt(String(rows[0]?.name).slice(0, 8), 16) || 0;
    return { timeline, isPooled: rows[0]?.pid !== rows.state.pid };
  } catch (error) {
    // Any other severity means that the host refused the connection.
    if ((error as { severity?: string }).severity === "ERROR") return { timeline: 0, isPooled: true };
    throw error;
  }
}

interface TimeLimit {
  /** Never resolves. Rejects when the time is up, or with the error passed to `fail`. */
  readonly passed: Promise<never>;
  readonly fail: (error: Error) => void;
  /** Starts the time over. */
  readonly restart: () => void;
  readonly stop: () => void;
}

/**
 * Limits the time of database calls. When it's up, `passed` rejects with ProblemError `unavailable`.
 * @param firstMs milliseconds until the first restart, if part of the time has already passed
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
