// The overview in the API of the console: a site, and the traffic of the server.

import { describe, expect, test } from "bun:test";
import { TrafficHistory } from "../../../src/admin/traffic.ts";
import type { MetricsSample } from "../../../src/lib/metrics.ts";
import { publicResources } from "../../../src/model/resource.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import type { ConsoleClient, TestConsole } from "../../support/console/server.ts";
import { useConsole } from "../../support/console/use-console.ts";
import { createTestWebhook } from "../../support/webhooks/test-webhook.ts";

const day = 24 * 3_600_000;

describe("the overview of a site", () => {
  let server: TestConsole;
  let anna: ConsoleClient;
  useConsole((started, operator) => {
    [server, anna] = [started, operator];
  });

  test("has all its parts for a site without data", async () => {
    await createSite(server.engine, "empty", {}, 1);
    expect((await anna.call("GET", "/sites/empty/overview")).json).toEqual({
      records: Object.fromEntries(publicResources(allResources).map(({ path }) => [path, 0])),
      validKeys: 0,
      changed: null,
      endingKeys: [],
      webhooks: [],
      lastBackup: null,
    });
  });

  test("counts records, and lists the keys that expire within 30 days", async () => {
    const now = Date.now();
    for (const [label, expiresAt] of [
      ["ended", now - 1],
      ["soon", now + 29 * day],
      ["later", now + 31 * day],
    ] as const)
      await createKey(server.engine, server.site, { label, expiresAt }, now);
    await anna.call("POST", "/sites/shop/records/brands", { Name: "Acme" });
    await createTestWebhook(server.engine, server.site.ID, "http://127.0.0.1:9/");
    const { json } = await anna.call("GET", "/sites/shop/overview");
    expect(json).toMatchObject({ records: { brands: 1 }, validKeys: 3, changed: expect.stringMatching(/Z$/) });
    expect(json.endingKeys.map(({ label }: { label: string }) => label)).toEqual(["soon"]);
    expect(json.endingKeys[0]).toMatchObject({ prefix: expect.stringMatching(/^sfk_/) });
    expect(json.webhooks).toHaveLength(1);
    const tom = await server.signIn("tom", [], "editor");
    const seen = (await tom.call("GET", "/sites/shop/overview")).json;
    expect(seen).toEqual({ ...json, endingKeys: [], webhooks: [] });
  });

  test("comes with the traffic of the last hour or day", async () => {
    for (const [query, status] of [
      ["", 200],
      ["?span=hour", 200],
      ["?span=day", 200],
      ["?span=week", 400],
    ] as const)
      expect([query, (await anna.call("GET", `/traffic${query}`)).status]).toEqual([query, status]);
  });
});

describe("the traffic of the server", () => {
  /** Returns the metrics of one process. @param durations the numbers of requests that took at most 5 ms, at most 10 ms, and any time */
  function sampleOf(counts: Record<string, number>, durations: readonly [number, number, number]): MetricsSample {
    const family = { help: "", type: "counter", aggregator: "sum" };
    const name = "storefront_http_request_duration_seconds";
    return [
      {
        ...family,
        name: "storefront_http_requests_total",
        values: Object.entries(counts).map(([key, value]) => {
          const [method = "", status = ""] = key.split(" ");
          return { labels: { method, status }, value };
        }),
      },
      {
        ...family,
        name,
        values: ["0.005", "0.01", "+Inf"].map((le, index) => ({
          metricName: `${name}_bucket`,
          labels: { le },
          value: durations[index] as number,
        })),
      },
    ];
  }

  const pointsOf = async (samples: readonly (readonly MetricsSample[])[]) => (await historyOf(samples)).points;

  /** Returns the history of these samples, each 20 seconds after the previous sample. */
  async function historyOf(samples: readonly (readonly MetricsSample[])[]) {
    let at = 0;
    let next: readonly MetricsSample[] = samples[0] as readonly MetricsSample[];
    const history = new TrafficHistory(
      async () => next,
      () => at,
    );
    history.stop();
    await history.addPoint();
    for (const sample of samples.slice(1)) {
      [at, next] = [at + 20_000, sample];
      await history.addPoint();
    }
    return history;
  }

  test("is the difference of the counts of all processes together", async () => {
    const [point, ...others] = await pointsOf([
      [sampleOf({ "GET 200": 5 }, [5, 5, 5]), sampleOf({ "GET 200": 1 }, [1, 1, 1])],
      [
        sampleOf({ "GET 200": 15, "POST 201": 4, "POST 501": 2 }, [15, 21, 21]),
        sampleOf({ "GET 200": 1, "GET 500": 3, "DELETE 204": 1 }, [1, 5, 5]),
      ],
    ]);
    expect(others).toEqual([]);
    expect(point).toMatchObject({ at: 20_000, seconds: 20, requests: 20, errors: 3, writes: 5 });
    // 10 of 20 requests took at most 5 ms, the others at most 10 ms.
    expect(point?.p50).toBeCloseTo(5);
    expect(point?.p99).toBeCloseTo(9.9);
  });

  test("has no response times without requests", async () => {
    const sample = [sampleOf({ "GET 200": 5 }, [5, 5, 5])];
    expect(await pointsOf([sample, sample])).toMatchObject([{ requests: 0, p50: null, p99: null }]);
  });

  test("counts response times above the last bucket as the bound of that bucket", async () => {
    const points = await pointsOf([[sampleOf({ "GET 200": 0 }, [0, 0, 0])], [sampleOf({ "GET 200": 4 }, [0, 0, 4])]]);
    expect(points).toMatchObject([{ p50: 10, p99: 10 }]);
  });

  test("omits the time in which a process lost its counts", async () => {
    const points = await pointsOf([
      [sampleOf({ "GET 200": 100 }, [100, 100, 100])],
      [sampleOf({ "GET 200": 3 }, [3, 3, 3])],
      [sampleOf({ "GET 200": 5 }, [5, 5, 5])],
    ]);
    expect(points).toMatchObject([{ at: 40_000, requests: 2 }]);
  });

  test("keeps the points of one hour", async () => {
    const samples = Array.from({ length: 200 }, (_, count) => [sampleOf({ "GET 200": count }, [count, count, count])]);
    const points = await pointsOf(samples);
    expect([points.length, points[0]?.at]).toEqual([180, 20 * 20_000]);
  });

  test("has a point for every 5 minutes of the last day", async () => {
    const samples = Array.from({ length: 15 * 300 + 1 }, (_, count) => [
      sampleOf({ "GET 200": count * 2, "GET 500": count }, [0, count, count]),
    ]);
    const { dayPoints } = await historyOf(samples);
    expect(dayPoints).toHaveLength(288);
    expect(dayPoints[0]).toMatchObject({ at: 13 * 300_000, seconds: 300, requests: 45, errors: 15 });
    expect(dayPoints.at(-1)?.at).toBe(300 * 300_000);
    // 16 samples are 5 minutes. A process loses its counts in the second of them.
    const lost = [...samples.slice(0, 16), ...samples.slice(0, 17)];
    expect((await historyOf(lost)).dayPoints).toMatchObject([
      { at: 300_000, requests: 45 },
      { at: 31 * 20_000, requests: 45 },
    ]);
  });
});
