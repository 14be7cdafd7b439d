// One connection to the database, used by one caller at a time and never opened again once it is lost: what belongs to
// one transaction must not go on in another session, as a pool that reconnects by itself would have it.

import postgres from "postgres";
import { type DatabaseAddress, type Host, nameOf } from "./address.ts";
import { codeOf, unavailable } from "./errors.ts";

// biome-ignore lint/suspicious/noExplicitAny: whatever the statement selects
export type ResultRow = Record<string, any>;

export interface PostgresConnection {
  /** The host's name and port. */
  readonly host: string;
  /** How many promotions the host's history had, counted from 1; 0 for an engine that does not say. */
  readonly timeline: number;
  /** When it was begun, in milliseconds as of `performance.now()`. */
  readonly openedAt: number;
  /** Resolves when the database has closed it too: then nothing that was sent over it is still under way there. */
  readonly ended: Promise<void>;
  /** Sends statements without parameters in one message. Comes back with the rows of each that returns rows. */
  script(text: string): Promise<ResultRow[][]>;
  /** Sends one statement, `parameters` being its `$1` and so on; one that is a JSON value is for `$1::json`. */
  query(text: string, ...parameters: (string | number | readonly object[])[]): Promise<ResultRow[]>;
  /** The rows of one statement, `size` at a time; only in a transaction. */
  pages(text: string, size: number): AsyncGenerator<ResultRow[]>;
  /** What the database warned of since the last call. */
  takeWarning(): string | undefined;
  readonly isOpen: boolean;
  /** Calls `listener`, and nobody else, when the connection is lost; undefined to call nobody. */
  onLost(listener: ((error: Error) => void) | undefined): void;
  /** Comes back at once, also when the database hangs. */
  close(): Promise<void>;
}

/** Milliseconds that a host has to accept a connection, though a call may take longer: commands have time, but a dead host is dead. */
const mostConnecting = 10_000;

/** Connects to a host that is a primary. @throws what went wrong, or Refusal `unavailable` when it is none or does not respond in time */
export async function connect(host: Host, address: DatabaseAddress): Promise<PostgresConnection> {
  const name = nameOf(host);
  const openedAt = performance.now();
  const timeout = Math.min(address.timeout, mostConnecting);
  let isOpen = true;
  let isLate = false;
  let warning: string | undefined;
  let tellLost: ((error: Error) => void) | undefined;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const lostError = () =>
    unavailable(`the connection to the database at ${name} was lost`, { code: "CONNECTION_CLOSED" });
  const sql = postgres({
    ...host,
    ...(address.database === undefined ? {} : { database: address.database }),
    ...(address.user === undefined ? {} : { user: address.user }),
    ...(address.password === undefined ? {} : { password: address.password }),
    ssl: address.tls,
    max: 1,
    prepare: address.prepare,
    fetch_types: false,
    target_session_attrs: "primary",
    connect_timeout: timeout / 1000,
    // Only for a connection that nobody got: one in use is not idle in this sense.
    idle_timeout: 60,
    max_lifetime: null,
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: { application_name: "storefront" },
    onnotice: (notice) => {
      if (notice.severity === "WARNING") warning = notice.message;
    },
    onclose: () => {
      isOpen = false;
      end();
      tellLost?.(lostError());
    },
  });
  let timeline: number;
  let reserved: postgres.ReservedSql;
  // The limit of postgres.js ends with the handshake; the host may hang right after it.
  const limit = setTimeout(() => {
    isLate = true;
    void sql.end({ timeout: 0 });
  }, timeout);
  try {
    // postgres.js hands out only a connection on which something was asked.
    timeline = await readTimeline(sql);
    reserved = await sql.reserve();
  } catch (error) {
    void sql.end({ timeout: 0 });
    if (isLate) throw unavailable(`${name} did not respond within ${timeout} ms`, error);
    throw codeOf(error) === "CONNECTION_DESTROYED" ? unavailable(`${name} is not the primary`, error) : error;
  } finally {
    clearTimeout(limit);
  }

  function open(): postgres.ReservedSql {
    if (!isOpen) throw lostError();
    return reserved;
  }

  async function script(text: string): Promise<ResultRow[][]> {
    return rowSets(await open().unsafe(text).simple());
  }

  /** Not by the cursor of postgres.js, whose `next()` is no promise at the end, and which takes a lost connection for the end. */
  async function* pages(text: string, size: number): AsyncGenerator<ResultRow[]> {
    await script(`declare pages no scroll cursor for ${text}`);
    for (let isLast = false; !isLast; ) {
      const [page = []] = await script(`fetch ${size} from pages`);
      if (page.length > 0) yield page;
      isLast = page.length < size;
    }
    await script("close pages");
  }

  return {
    host: name,
    timeline,
    openedAt,
    ended,
    script,
    query: async (text, ...parameters) =>
      // An array of objects has no type of its own here: the database says that it wants JSON, and JSON it becomes.
      open().unsafe(text, parameters as unknown as string[], { prepare: address.prepare }),
    pages,
    takeWarning: () => {
      const taken = warning;
      warning = undefined;
      return taken;
    },
    get isOpen() {
      return isOpen;
    },
    onLost: (listener) => {
      tellLost = listener;
      if (!isOpen) listener?.(lostError());
    },
    close: () => {
      isOpen = false;
      return sql.end({ timeout: 0 });
    },
  };
}

/** postgres.js gives one result for one statement and a list of results for several, those without rows among them. */
function rowSets(results: ResultRow): ResultRow[][] {
  const all = ("command" in results ? [results] : results) as (ResultRow[] & { columns?: unknown })[];
  return all.filter((result) => Boolean(result.columns)).map((result) => [...result]);
}

/**
 * The timeline that the host writes to, which is also the first thing that is asked on a connection: the first 8 digits of a
 * WAL file's name, in hexadecimal. Engines without WAL files do not know the functions.
 */
async function readTimeline(sql: postgres.Sql): Promise<number> {
  try {
    const [row] = await sql.unsafe("select pg_walfile_name(pg_current_wal_lsn()) as name");
    return Number.parseInt(String(row?.name).slice(0, 8), 16) || 0;
  } catch (error) {
    // The other severities are those of a connection that was refused.
    if ((error as { severity?: string }).severity === "ERROR") return 0;
    throw error;
  }
}
