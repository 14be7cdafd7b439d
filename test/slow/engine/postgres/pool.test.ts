// How the few connections of a process are shared: in which order, and for how long.

import { afterAll, afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { allResources } from "../../../../src/resources/all.ts";
import { openEngine } from "../../../../src/store/open.ts";
import { type DatabaseAddress, parseAddress } from "../../../../src/store/postgres/address.ts";
import type { PostgresConnection } from "../../../../src/store/postgres/connection.ts";
import { step } from "../../../../src/store/postgres/long-connections.ts";
import { Pool, type Work } from "../../../../src/store/postgres/pool.ts";
import { createPrimary, type Primary } from "../../../../src/store/postgres/primary.ts";
import { createIntent } from "../../../support/engine/intents.ts";
import { failureOf } from "../../../support/failure.ts";
import { startPostgres } from "../../../support/postgres/server.ts";
import { ticks, waitUntil } from "../../../support/time.ts";

let primary: Primary;
const server = await startPostgres();
afterAll(() => server.remove());

const pools: Pool[] = [];
beforeEach(() => {
  primary = createPrimary(parseAddress(server.url("postgres")));
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
  await waitUntil(async () => (await backEnds()).length === 0, "no connection");
});

function makePool(size: number, timeout: number): Pool {
  const pool = new Pool(primary, size, timeout);
  pools.push(pool);
  return pool;
}

/** The process at the other end of a connection. */
const pidOf: Work<number> = async (connection) =>
  Number((await connection.query("select pg_backend_pid() as pid"))[0]?.pid);

test("callers get a connection in the order of their calls, and there are never more than the size of the pool", async () => {
  const pool = makePool(2, 20_000);
  await Promise.all([pool.use(pidOf), pool.use(pidOf)]);
  const order: number[] = [];
  let inUse = 0;
  let most = 0;
  const pids = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      pool.use(async (connection, progress) => {
        order.push(i);
        most = Math.max(most, ++inUse);
        const pid = await pidOf(connection, progress);
        await ticks();
        inUse--;
        return pid;
      }),
    ),
  );
  expect(most).toBe(2);
  expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(new Set(pids).size).toBe(2);
});

test("a caller that waits too long for a connection gets an error, and the next callers get theirs", async () => {
  const pool = makePool(1, 2000);
  const { promise: isOver, resolve: finish } = Promise.withResolvers<void>();
  const first = pool.use(async (connection, progress) => {
    const pid = await pidOf(connection, progress);
    // As a caller that reads a long list, page after page.
    const more = setInterval(() => progress.restartTimeLimit(), 50);
    await isOver;
    clearInterval(more);
    return pid;
  });
  let isDone = false;
  const failing = failureOf(
    pool.use(async () => {
      isDone = true;
    }),
  );
  expect((await failing).message).toBe("the database did not respond within 2000 ms");
  const behind = pool.use(pidOf);
  finish();
  expect(await behind).toBe(await first);
  expect(await pool.use(pidOf)).toBe(await first);
  expect(isDone).toBe(false);
});

test("a connection that is open only after its caller timed out is for the next one", async () => {
  const pool = makePool(1, 2000);
  await server.signal("SIGSTOP");
  const error = await failureOf(pool.use(pidOf)).finally(() => server.signal("SIGCONT"));
  expect(error.message).toBe("the database did not respond within 2000 ms");
  const patient = waitUntil(() => pool.use(pidOf).catch(() => undefined), "a connection");
  expect(await patient).toBeGreaterThan(0);
});

test("nothing is connected for callers that timed out", async () => {
  await using silent = await listen(() => {});
  const pool = new Pool(createPrimary(addressOf(300, silent)), 1, 200);
  await Promise.all(Array.from({ length: 5 }, () => failureOf(pool.use(pidOf))));
  // Otherwise, the next connection would begin when the first one has failed.
  await waitUntil(() => pool.usage.inUse === 0, "the end of the connection");
  expect(silent.connections()).toBe(1);
});

test("while a host does not respond, another host that is not a primary is tried again, after a pause", async () => {
  await using silent = await listen(() => {});
  await using unwilling = await listen((socket) => socket.end(startingUp));
  const error = await failureOf(createPrimary(addressOf(4000, silent, unwilling)).connect());
  expect(error.message).toContain("no primary among the hosts");
  expect(unwilling.connections()).toBeGreaterThan(1);
  expect(unwilling.connections()).toBeLessThan(25);
});

test("a connection that was lost while it was idle affects no caller", async () => {
  const pool = makePool(2, 20_000);
  let idle: PostgresConnection | undefined;
  const pid = await pool.use((connection, progress) => {
    idle = connection;
    return pidOf(connection, progress);
  });
  await server.run(`select pg_terminate_backend(${pid})`);
  await waitUntil(() => !idle?.isOpen, "the end of the connection");
  expect(await pool.use(pidOf)).not.toBe(pid);
});

test("after work that fails, its connection is closed and the next caller gets another one", async () => {
  const pool = makePool(1, 20_000);
  const pid = await pool.use(pidOf);
  const failing = failureOf(pool.use((connection) => connection.script("begin; select 1 / 0")));
  const next = pool.use(pidOf);
  expect((await failing).message).toContain("division by zero");
  expect(await next).not.toBe(pid);
});

test("a connection is closed half an hour after it was opened, when it is released or would be used again", async () => {
  const pool = makePool(2, 60 * 60_000);
  const first = await pool.use(pidOf);
  expect(await pool.use(pidOf)).toBe(first);
  const now = performance.now.bind(performance);
  let later = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => now() + later);
  try {
    later = 31 * 60_000;
    const second = await pool.use(pidOf);
    expect(second).not.toBe(first);
    const third = await pool.use(async (connection, progress) => {
      later *= 2;
      return pidOf(connection, progress);
    });
    expect(third).toBe(second);
    await waitUntil(async () => (await backEnds()).length === 0, "no connection");
  } finally {
    clock.mockRestore();
  }
});

test("a connection that is lost ends the work with it at once, although nothing is sent to the database", async () => {
  const pool = makePool(1, 20_000);
  const { promise: never } = Promise.withResolvers<void>();
  const inPool = failureOf(pool.use(async () => never));
  const alone = await primary.connect();
  const inStep = failureOf(step(alone, never));
  await waitUntil(async () => (await backEnds()).length === 2, "two connections");
  await server.run("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'storefront'");
  expect((await inPool).message).toMatch(/^the connection to the database at 127.0.0.1:[0-9]+ was lost$/);
  expect((await inStep).message).toMatch(/was lost$/);
  await alone.close();
});

test("a read is tried three times at most when its connection is lost each time, and a write once", async () => {
  const pool = makePool(1, 20_000);
  let tries = 0;
  const fail: Work<unknown> = (connection) => {
    tries++;
    return connection.script("select pg_terminate_backend(pg_backend_pid())");
  };
  expect((await failureOf(pool.read(fail))).code).toBe("unavailable");
  expect(tries).toBe(3);
  tries = 0;
  expect((await failureOf(pool.use(fail))).code).toBe("unavailable");
  expect(tries).toBe(1);
  tries = 0;
  const failing: Work<unknown> = (connection) => {
    tries++;
    return connection.script("select 1 / 0");
  };
  expect((await failureOf(pool.read(failing))).message).toContain("division by zero");
  expect(tries).toBe(1);
});

test("a pool that is closed lends no connection, and closes lent connections when they are released", async () => {
  const pool = makePool(2, 20_000);
  await Promise.all([pool.use(pidOf), pool.use(pidOf)]);
  const { promise: isOver, resolve: finish } = Promise.withResolvers<void>();
  const lent = pool.use(async () => isOver);
  await pool.close();
  expect((await failureOf(pool.use(pidOf))).message).toBe("the database was closed");
  finish();
  await lent;
  await waitUntil(async () => (await backEnds()).length === 0, "no connection");
});

interface Listener extends AsyncDisposable {
  readonly port: number;
  /** The number of connections so far. */
  connections(): number;
}

/** A listener at 127.0.0.1 that is not a database. */
async function listen(onConnection: (socket: Socket) => void): Promise<Listener> {
  const sockets: Socket[] = [];
  const listener = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    onConnection(socket);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    port: (listener.address() as AddressInfo).port,
    connections: () => sockets.length,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

/** How a database that is starting rejects a client (ErrorResponse, https://www.postgresql.org/docs/current/protocol-message-formats.html). */
const startingUp = (() => {
  const fields = "SFATAL\0C57P03\0Mthe database system is starting up\0\0";
  const message = Buffer.alloc(5 + fields.length, `E    ${fields}`);
  message.writeInt32BE(4 + fields.length, 1);
  return message;
})();

/** @param timeout milliseconds for a host to respond */
function addressOf(timeout: number, ...listeners: readonly Listener[]): DatabaseAddress {
  const hosts = listeners.map(({ port }) => `127.0.0.1:${port}`).join(",");
  return parseAddress(`postgres://user@${hosts}/database?sslmode=disable&statement_timeout=${timeout}`);
}

async function backEnds(): Promise<unknown[]> {
  return server.run("select pid from pg_stat_activity where application_name = 'storefront'");
}

test("the connections that a server opens before it listens are enough for the first head, record and page", async () => {
  const engine = await openEngine(server.url("postgres"), allResources);
  await engine.openConnections();
  const opened = await backEnds();
  await engine.readHeads([1]);
  await engine.readRecord(1, "brand", 1);
  await engine.readPage(1, "brand", { limit: 1, offset: 0 });
  const used = await backEnds();
  await engine.close();
  // Not equal, because the connection of the migration may have been ending.
  expect(opened).toEqual(expect.arrayContaining(used));
});

test("a write does not wait for the pages that many clients read at the same time", async () => {
  const engine = await openEngine(`${await server.createDatabase()}?statement_timeout=20000`, allResources);
  const records = Array.from({ length: 1000 }, () => createIntent({ values: { Name: "x".repeat(200) } }));
  await engine.commit(records);
  let pages = 0;
  const reading = Promise.all(
    Array.from({ length: 100 }, async () => {
      await engine.readPage(1, "brand", { limit: 1000, offset: 0 });
      pages++;
    }),
  );
  await engine.commit([createIntent({ site: 2 })]);
  expect(pages).toBeLessThan(50);
  await reading;
  await engine.close();
});
