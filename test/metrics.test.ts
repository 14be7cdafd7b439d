// The figures at /metrics that are counted here, and not by a library.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createMetrics } from "../src/http/metrics.ts";
import { toMetricsText } from "../src/lib/metric-samples.ts";
import { brand } from "../src/resources/brand.ts";
import { Snapshots } from "../src/store/snapshots.ts";
import { startTestServer, type TestServer } from "./support/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, Number.POSITIVE_INFINITY];

/** The histogram in what Prometheus reads: how many requests took at most so many seconds, all of them, and their sum. */
function histogramIn(text: string) {
  const lines = [...text.matchAll(/^storefront_http_request_duration_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)];
  const figure = (name: string) =>
    Number(new RegExp(`^storefront_http_request_duration_seconds_${name} (\\S+)$`, "m").exec(text)?.[1]);
  return {
    buckets: lines.map(([, bound, count]) => [
      bound === "+Inf" ? Number.POSITIVE_INFINITY : Number(bound),
      Number(count),
    ]),
    count: figure("count"),
    sum: figure("sum"),
  };
}

describe("the histogram of durations", () => {
  test("is cumulative, and a bound belongs to its bucket", async () => {
    const metrics = createMetrics(new Snapshots(server.engine, [brand], 1));
    for (const milliseconds of [0.1, 0.5, 0.6, 1, 2.5, 2.6, 100, 2500, 2501, 60_000]) {
      metrics.count(undefined, "GET", 200, milliseconds);
    }
    const { buckets, count, sum } = histogramIn(await toMetricsText([await metrics.sample()]));
    expect(buckets).toEqual(
      [2, 4, 5, 6, 6, 6, 6, 7, 7, 7, 8, 10].map((total, index) => [bounds[index] as number, total]),
    );
    expect(count).toBe(10);
    expect(sum).toBeCloseTo(65.1083, 6);
  });

  test("counts every response once, in seconds", async () => {
    const began = performance.now();
    const before = histogramIn((await server.call("GET", "/metrics")).text);
    for (let i = 0; i < 20; i++) await server.call("GET", "/restapi/brands.json");
    await server.call("GET", "/restapi/nothing.json");
    const after = histogramIn((await server.call("GET", "/metrics")).text);
    // The 21 and the first request of /metrics, which was counted after it was made.
    expect(after.count - before.count).toBe(22);
    expect(after.sum).toBeGreaterThan(before.sum);
    expect(after.sum - before.sum).toBeLessThan((performance.now() - began) / 1000);
    expect(after.buckets.map(([bound]) => bound)).toEqual(bounds);
    expect(after.buckets.at(-1)?.[1]).toBe(after.count);
  });
});

test("requests are counted by route, effective method and status", async () => {
  const { ID } = (await server.call("POST", "/restapi/brands.json", { body: { Name: "x" } })).json;
  await server.call("POST", `/restapi/brands/${ID}.xml`, { headers: { "X-HTTP-Method-Override": "DELETE" } });
  await server.call("GET", `/restapi/brands/${ID}.xml`);
  await server.call("GET", `/restapi/brands/${ID}.xml`);
  // Not a label each: clients choose these paths.
  for (const path of ["/", "/openapi.json", "/docs/nothing", "/a", "/restapi/a.json"]) await server.call("GET", path);
  const { text } = await server.call("GET", "/metrics");
  const counted = (route: string, method: string, status: number) =>
    text
      .split("\n")
      .find((line) =>
        line.startsWith(`storefront_http_requests_total{route="${route}",method="${method}",status="${status}"} `),
      )
      ?.split(" ")[1];
  expect(counted("/restapi/brands.json", "POST", 201)).toBe("1");
  expect(counted("/restapi/brands/{id}.xml", "DELETE", 200)).toBe("1");
  expect(counted("/restapi/brands/{id}.xml", "GET", 404)).toBe("2");
  expect(counted("/restapi/brands/{id}.xml", "POST", 200)).toBeUndefined();
  expect(counted("documentation", "GET", 200)).toBe("2");
  expect(counted("", "GET", 404)).toBe("3");
});
