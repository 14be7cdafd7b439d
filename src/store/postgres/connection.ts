// One connection to the database, used by one caller at a time and never opened again once it is lost: what belongs to
// one transaction must not go on in another session, as a pool that reconnects by itself would have it.

import postgres from "postgres";
import { messageOf } from "../../model/errors.ts";
import type { Address } from "./address.ts";
import { codeOf, unavailable } from "./errors.ts";

// biome-ignore lint/suspicious/noExplicitAny: whatever the statement selects
export type Row = Record<string, any>;

export interface Connection {
  /** Sends statements without parameters in one message. Comes back with the rows of each that returns rows. */
  script(text: string): Promise<Row[][]>;
  /** Sends one statement, `parameters` being its `$1` and so on; one that is a JSON value is for `$1::json`. */
  query(text: string, ...parameters: (string | number | readonly object[])[]): Promise<Row[]>;
  /** The rows of one statement, `size` at a time; only in a transaction. */
  pages(text: string, size: number): AsyncGenerator<Row[]>;
  /** What the database warned of since the last call. */
  takeWarning(): string | undefined;
  readonly isOpen: boolean;
  /** Calls `listener`, and nobody else, when the connection is lost; undefined to call nobody. */
  onLost(listener: ((error: Error) => void) | undefined): void;
  /** Milliseconds as of `performance.now()`. */
  readonly openedAt: number;
  close(): Promise<void>;
}

/** Connects to whichever of the hosts is the primary. All are asked at once, so that a dead one costs no time. */
export async function connectToPrimary(address: Address): Promise<Connection> {
  const attempts = address.hosts.map((host) => connect(host, address));
  try {
    const first = await Promise.any(attempts);
    void Promise.allSettled(attempts).then((all) => {
      for (const attempt of all) if (attempt.status === "fulfilled" && attempt.value !== first) attempt.value.close();
    });
    return first;
  } catch (error) {
    throw mostTelling((error as AggregateError).errors, address);
  }
}

async function connect({ host, port }: Address["hosts"][number], address: Address): Promise<Connection> {
  let isOpen = true;
  let warning: string | undefined;
  let tellLost: ((error: Error) => void) | undefined;
  const lostError = () =>
    unavailable(`the connection to the database at ${host}:${port} was lost`, { code: "CONNECTION_CLOSED" });
  const sql = postgres({
    host,
    port,
    ...(address.database === undefined ? {} : { database: address.database }),
    ...(address.user === undefined ? {} : { user: address.user }),
    ...(address.password === undefined ? {} : { password: address.password }),
    ssl: address.tls,
    max: 1,
    prepare: address.prepare,
    fetch_types: false,
    target_session_attrs: "primary",
    connect_timeout: address.timeout / 1000,
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
      tellLost?.(lostError());
    },
  });
  let reserved: postgres.ReservedSql;
  try {
    // postgres.js hands out only a connection that has answered something.
    await sql.unsafe("select 1");
    reserved = await sql.reserve();
  } catch (error) {
    void sql.end({ timeout: 0 });
    throw codeOf(error) === "CONNECTION_DESTROYED" ? unavailable(`${host}:${port} is not the primary`, error) : error;
  }

  function open(): postgres.ReservedSql {
    if (!isOpen) throw lostError();
    return reserved;
  }

  async function script(text: string): Promise<Row[][]> {
    return rowSets(await open().unsafe(text).simple());
  }

  /** Not by the cursor of postgres.js, whose `next()` is no promise at the end, and which takes a lost connection for the end. */
  async function* pages(text: string, size: number): AsyncGenerator<Row[]> {
    await script(`declare pages no scroll cursor for ${text}`);
    for (let isLast = false; !isLast; ) {
      const [page = []] = await script(`fetch ${size} from pages`);
      if (page.length > 0) yield page;
      isLast = page.length < size;
    }
    await script("close pages");
  }

  return {
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
    openedAt: performance.now(),
    close: () => {
      isOpen = false;
      return sql.end({ timeout: 0 });
    },
  };
}

/** postgres.js gives one result for one statement and a list of results for several, those without rows among them. */
function rowSets(results: Row): Row[][] {
  const all = ("command" in results ? [results] : results) as (Row[] & { columns?: unknown })[];
  return all.filter((result) => Boolean(result.columns)).map((result) => [...result]);
}

/** Of the reasons why no host would do, one that an operator can act on; with several hosts, all of them. */
function mostTelling(errors: readonly unknown[], address: Address): unknown {
  const spoken = errors.find((error) => /^[0-9A-Z]{5}$/.test(codeOf(error)) && !/^(57|E)/.test(codeOf(error)));
  if (spoken || errors.length === 1) return spoken ?? errors[0];
  const reasons = errors.map((error, i) => `${address.hosts[i]?.host}: ${messageOf(error)}`);
  return unavailable(`no primary among the hosts of the database (${reasons.join("; ")})`, errors[0]);
}
