// The metrics, which the program counts itself, without a library.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { processFamilies } from "../../src/commands/processes/worker-metrics.ts";
import { readConfig } from "../../src/config.ts";
import { Histogram, histogram, toMetricsText } from "../../src/lib/metrics.ts";
import { makeSandbox } from "../../src/operator/sandbox/make-sandbox.ts";
import { createKey } from "../../src/operator/sites/keys.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { start } from "../../src/start.ts";
import { measureEngine } from "../../src/store/measured-engine.ts";
import { engines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";
import { makeCertificate } from "../support/http/certificate.ts";
import { startTestServer, type TestServer, useServer } from "../support/http/server.ts";
import { waitUntil } from "../support/time.ts";
import { openClient } from "../support/wire/client.ts";

/** Values by name and labels as they appear in the text, `name{label="value"}`. */
type Values = ReadonlyMap<string, number>;

function valuesIn(text: string): Values {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

async function metricsOf(server: TestServer): Promise<Values> {
  return valuesIn(await server.metrics());
}

const folder = mkdtempSync(join(tmpdir(), "storefront-metrics-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bounds = ["0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "1", "2.5", "+Inf"];

describe("a histogram", () => {
  test("is cumulative, puts a value equal to a bound in its bucket, and keeps labels", async () => {
    const times = new Histogram([0.5, 1, 2.5]);
    for (const milliseconds of [0.1, 0.5, 0.6, 1, 2.5, 2.6, 60_000]) times.add(milliseconds);
    const family = histogram("x_seconds", "Help.", [[{ operation: "list" }, times]], 1000);
    // The values of two processes are summed.
    const values = valuesIn(await toMetricsText([[family], [family]]));
    expect([...values]).toEqual([
      ['x_seconds_bucket{operation="list",le="0.0005"}', 4],
      ['x_seconds_bucket{operation="list",le="0.001"}', 8],
      ['x_seconds_bucket{operation="list",le="0.0025"}', 10],
      ['x_seconds_bucket{operation="list",le="+Inf"}', 14],
      ['x_seconds_sum{operation="list"}', expect.closeTo(120.0146, 6)],
      ['x_seconds_count{operation="list"}', 14],
    ] as [string, number][]);
  });
});

describe.each(engines)("metrics on $name", (kind) => {
  let server: TestServer;
  useServer(kind, (started) => {
    server = started;
  });

  /** Returns how much each value grew during `work`. */
  async function growth(work: () => Promise<unknown>): Promise<(name: string) => number> {
    const before = await metricsOf(server);
    await work();
    const after = await metricsOf(server);
    return (name) => (after.get(name) ?? Number.NaN) - (before.get(name) ?? 0);
  }

  test("requests: counted by route, effective method and status", async () => {
    const { ID } = (await server.call("POST", "/restapi/brands.json", { body: { Name: "x" } })).json;
    await server.call("POST", `/restapi/brands/${ID}.xml`, { headers: { "X-HTTP-Method-Override": "DELETE" } });
    await server.call("GET", `/restapi/brands/${ID}.xml`);
    await server.call("GET", `/restapi/brands/${ID}.xml`);
    // Clients choose these paths, so they don't become labels.
    for (const path of ["/", "/openapi.json", "/docs/nothing", "/a", "/restapi/a.json"]) await server.call("GET", path);
    const values = await metricsOf(server);
    const counted = (route: string, method: string, status: number) =>
      values.get(`storefront_http_requests_total{route="${route}",method="${method}",status="${status}"}`);
    expect(counted("/restapi/brands.json", "POST", 201)).toBe(1);
    expect(counted("/restapi/brands/{id}.xml", "DELETE", 200)).toBe(1);
    expect(counted("/restapi/brands/{id}.xml", "GET", 404)).toBe(2);
    expect(counted("/restapi/brands/{id}.xml", "POST", 200)).toBeUndefined();
    expect(counted("documentation", "GET", 200)).toBe(2);
    expect(counted("", "GET", 404)).toBe(2);
  });
  if (kind.name === "PostgreSQL") return;

  test("requests: a label marks those with a sandbox key", async () => {
    const { site: sandbox } = await makeSandbox(server.engine, server.site.Name, { now: Date.now });
    const { key } = await createKey(server.engine, sandbox, {}, Date.now());
    const name = (labels: string) => `storefront_http_requests_total{route="/restapi/brands.json",${labels}}`;
    const grown = await growth(async () => {
      await server.call("GET", "/restapi/brands.json");
      for (let i = 0; i < 2; i++) await server.call("GET", "/restapi/brands.json", { key });
      await server.call("DELETE", "/restapi/nothing.json", { key });
    });
    expect(grown(name('method="GET",status="200"'))).toBe(1);
    expect(grown(name('method="GET",status="200",sandbox="yes"'))).toBe(2);
    expect(grown('storefront_http_requests_total{route="",method="DELETE",status="404",sandbox="yes"}')).toBe(1);
    expect(grown('storefront_http_request_duration_seconds_count{operation="list"}')).toBe(3);
    expect(await server.metrics()).not.toContain(sandbox.Name);
  });

  test("durations: a histogram in seconds per kind of operation", async () => {
    const began = performance.now();
    const name = (part: string, operation: string) =>
      `storefront_http_request_duration_seconds_${part}{operation="${operation}"}`;
    const grown = await growth(async () => {
      for (let i = 0; i < 3; i++) await server.call("GET", "/restapi/brands.json");
      for (const method of ["GET", "HEAD"]) await server.call(method, "/restapi/brands/1.xml");
      await server.call("POST", "/restapi/brands.json", { body: { Name: "x" } });
      await server.call("OPTIONS", "/restapi/brands.json");
      await server.call("GET", "/restapi/nothing.json");
    });
    const seconds = (performance.now() - began) / 1000;
    for (const [operation, count] of Object.entries({ list: 3, "look-up": 2, write: 1, other: 2 })) {
      expect([operation, grown(name("count", operation))]).toEqual([operation, count]);
      expect(grown(name("sum", operation))).toBeGreaterThan(0);
      expect(grown(name("sum", operation))).toBeLessThan(seconds);
    }
    const buckets = [...(await metricsOf(server)).keys()].flatMap(
      (key) => /^storefront_http_request_duration_seconds_bucket\{operation="list",le="(.*)"\}$/.exec(key)?.[1] ?? [],
    );
    expect(buckets).toEqual(bounds);
  });

  test("reading metrics never walks the heap, which would pause the runtime", async () => {
    const names = [...(await metricsOf(server)).keys()];
    expect(names.filter((name) => name.startsWith("nodejs_heap_"))).toEqual([
      "nodejs_heap_size_total_bytes",
      "nodejs_heap_size_used_bytes",
    ]);
  });

  test("rejected keys: counted by reason", async () => {
    const reader = await server.issueKey({ rights: ["read"] });
    const grown = await growth(async () => {
      for (const key of [null, null, "x", reader]) {
        await server.call("POST", "/restapi/brands.json", { key, body: { Name: "x" } });
      }
    });
    const reasons = ["missing", "malformed", "without the right"];
    expect(reasons.map((reason) => grown(`storefront_key_refusals_total{reason="${reason}"}`))).toEqual([2, 1, 1]);
  });

  test("database: transactions by number of writes, and calls by duration", async () => {
    const grown = await growth(async () => {
      const write = () => server.call("POST", "/restapi/brands.json", { body: { Name: "x" } });
      await Promise.all(Array.from({ length: 20 }, write));
    });
    expect(grown("storefront_write_batch_size_sum")).toBe(20);
    const batches = grown("storefront_write_batch_size_count");
    expect(batches).toBeGreaterThan(0);
    expect(grown('storefront_database_call_duration_seconds_count{call="commit"}')).toBe(batches);
    expect(grown('storefront_database_call_duration_seconds_sum{call="commit"}')).toBeGreaterThan(0);
    const values = await metricsOf(server);
    expect(values.get("storefront_write_queue_length")).toBe(0);
    expect(values.get('storefront_database_errors_total{call="commit"}')).toBe(0);
  });

  test("connections, memory and program version", async () => {
    const values = await metricsOf(server);
    expect(values.get("storefront_http_connections")).toBeGreaterThan(0);
    expect(values.get("storefront_sites_in_memory")).toBeGreaterThan(0);
    expect(values.get("storefront_site_loads_total")).toBeGreaterThan(0);
    expect(values.get("storefront_site_evictions_total")).toBe(0);
    expect(values.get("storefront_log_lines_lost_total")).toBe(0);
    const build = [...values.keys()].find((name) => name.startsWith("storefront_build_info"));
    expect(build).toMatch(
      new RegExp(`^storefront_build_info\\{version="${version}",commit="([0-9a-f]{12}|unknown)"\\}$`),
    );
    const own = ["storefront_sqlite_wal_bytes", "storefront_postgres_connections_max"];
    expect(own.map((name) => values.has(name))).toEqual([kind.name === "SQLite", kind.name !== "SQLite"]);
  });

  test("last backup: 0 if there's none, and never hidden by an earlier clock that was ahead", async () => {
    const name = `storefront_last_backup_timestamp_seconds{database="${await server.engine.readDatabaseId()}"}`;
    const shown = async () => (await metricsOf(server)).get(name);
    expect(await waitUntil(async () => (await shown()) !== undefined, "the store's response")).toBe(true);
    expect(await shown()).toBe(0);
    const now = Date.now();
    for (const [made, latest] of [
      [1_700_000_000_500, 1_700_000_000_500],
      [now + 1e10, now + 1e10],
      [now - 5, now - 5],
      [now - 10, now - 5],
    ] as const) {
      await server.engine.saveBackupTime(made);
      // A new server reads the time at once; this one takes a few seconds.
      const other = await start(readConfig({ DATABASE: server.database, PORT: "0", LOG: "silent" }));
      const seen = await waitUntil(
        async () => valuesIn(await toMetricsText([await other.sample()])).get(name) || undefined,
        "the time",
      );
      await other.stop();
      expect(seen).toBe(latest / 1000);
    }
  });

  test("readiness: says whether the database can be written, without checking it until the next scrape", async () => {
    expect((await metricsOf(server)).get("storefront_ready")).toBe(1);
    const other = await start(readConfig({ DATABASE: server.database, PORT: "0", LOG: "silent" }));
    const unchecked = valuesIn(await toMetricsText([await other.sample(false)]));
    expect(unchecked.has("storefront_ready")).toBe(false);
    expect(valuesIn(await toMetricsText([await other.sample()])).get("storefront_ready")).toBe(1);
    expect(valuesIn(await toMetricsText([await other.sample(false)])).get("storefront_ready")).toBe(1);
    await other.stop();
  });

  test("every metric is in the manual, and the alert rules use no others", async () => {
    const docs = (file: string) => Bun.file(new URL(`../../docs/${file}`, import.meta.url)).text();
    const namesIn = (text: string) =>
      new Set(text.match(/\bstorefront_[a-z_]+/g)?.map((name) => name.replace(/_bucket$/, "")));
    const shown = namesIn(
      (await docs("operating/monitoring.md"))
        .split("\n")
        .filter((line) => /^\| `storefront_/.test(line))
        .join(),
    );
    const own = processFamilies({ responding: 1, expected: 1, restarts: 0 });
    const expiry = "# TYPE storefront_certificate_expiry_timestamp_seconds gauge";
    const text = [await server.metrics(), await toMetricsText([own]), expiry].join("\n");
    const made = [...text.matchAll(/^# TYPE (storefront_[a-z_]+)/gm)].map(([, name]) => name as string);
    const ofOtherEngine = kind.name === "SQLite" ? /^storefront_postgres_/ : /^storefront_sqlite_/;
    expect([...shown].filter((name) => !ofOtherEngine.test(name)).sort()).toEqual(made.sort());
    expect([...namesIn(await docs("alerts.yml"))].filter((name) => !shown.has(name))).toEqual([]);
  });

  test("clients can't add labels", async () => {
    const sendRaw = async (text: string) => {
      const client = await openClient(server.port);
      client.send(text);
      await client.responses(1);
      client.socket.destroy();
    };
    const send = async (n: number) => {
      const headers = { "X-Request-Id": `id-${n}`, "X-HTTP-Method-Override": `A${n}` };
      await sendRaw(`X${n} /restapi/brands.json?n=${n} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await sendRaw(`nonsense ${n}\r\n\r\n`);
      await server.call("GET", `/restapi/a${n}.json`);
      await server.call("GET", `/restapi/brands/${n}00.json`, { headers });
      await server.call("POST", "/restapi/brands.json", { key: `sfk_${n}`, headers });
    };
    await send(1);
    const before = [...(await metricsOf(server)).keys()].filter((name) => name.startsWith("storefront_"));
    for (let n = 2; n < 20; n++) await send(n);
    const after = [...(await metricsOf(server)).keys()].filter((name) => name.startsWith("storefront_"));
    expect(after).toEqual(before);
  });
});

test("sites that don't all fit in memory: counts evictions and reloads", async () => {
  const server = await startTestServer({ settings: { MEMORY: "1" } });
  try {
    const keys: string[] = [];
    for (const name of ["a", "b"]) {
      const site = await createSite(server.engine, name, { hostnames: [`${name}.example`] }, Date.now());
      keys.push((await createKey(server.engine, site, {}, Date.now())).key);
      const create = createIntent({ site: site.ID, values: { Name: "x".repeat(255) } });
      for (let round = 0; round < 6; round++) await server.engine.commit(Array.from({ length: 500 }, () => create));
    }
    const read = (name: number) =>
      server.call("GET", "/restapi/brands.json", {
        key: keys[name] as string,
        headers: { Host: `${"ab"[name]}.example` },
      });
    for (let round = 0; round < 4; round++) for (const name of [0, 1]) await read(name);
    const values = await metricsOf(server);
    expect(values.get("storefront_site_evictions_total")).toBeGreaterThan(0);
    expect(values.get("storefront_site_loads_total")).toBeGreaterThan(
      values.get("storefront_sites_in_memory") as number,
    );
  } finally {
    await server.stop();
  }
});

test("metrics are served while the database is unreachable", async () => {
  const server = await startTestServer();
  const file = server.database.replace("sqlite:", "");
  renameSync(file, `${file}.away`);
  const values = await metricsOf(server);
  renameSync(`${file}.away`, file);
  await server.stop();
  expect(values.get("storefront_http_connections")).toBe(0);
  expect(values.has("storefront_sqlite_wal_bytes")).toBe(false);
  expect(values.get("storefront_ready")).toBe(0);
});

test("certificate: shows when the current one expires, even after it was replaced", async () => {
  const name = "storefront_certificate_expiry_timestamp_seconds";
  const day = 86_400_000;
  const now = Math.floor(Date.now() / 1000) * 1000;
  const certificate = makeCertificate(now);
  const running = await start(readConfig({ DATABASE: `sqlite:${join(folder, "tls.db")}`, PORT: "0", LOG: "silent" }), {
    certificate,
  });
  const shown = async () => valuesIn(await toMetricsText([await running.sample()])).get(name);
  expect(await shown()).toBe((now + day) / 1000);
  await running.replaceCertificate(makeCertificate(now + 30 * day));
  expect(await shown()).toBe((now + 31 * day) / 1000);
  await running.stop();
});

test("a failed database call is counted", async () => {
  const server = await startTestServer();
  const failure = new Error("disk I/O error");
  const broken = {
    ...server.engine,
    readHeads: () => {
      throw failure;
    },
    commit: () => Promise.reject(failure),
  };
  const { engine, calls } = measureEngine(broken);
  expect(() => engine.readHeads([0])).toThrow(failure);
  await expect(engine.commit([])).rejects.toThrow(failure);
  await engine.readLastKeyUses();
  const errors = [...calls].filter(([, call]) => call.errors > 0).map(([name]) => name);
  await server.stop();
  expect(errors.sort()).toEqual(["commit", "readHeads"]);
});
