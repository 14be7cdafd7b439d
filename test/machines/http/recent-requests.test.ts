// Limits of the in-memory request log (recent-requests.ts).

import { expect, test } from "bun:test";
import { RecentRequests } from "../../../src/http/recent-requests.ts";
import type { RequestContext } from "../../../src/http/request-context.ts";
import { RequestId } from "../../../src/http/request-ids.ts";
import { ProblemError } from "../../../src/model/errors.ts";
import { allResources } from "../../../src/resources/all.ts";
import { HeaderFields } from "../../../src/wire/header-fields.ts";

/** A log, and a clock that moves on by a second with each request. */
function startLog() {
  let now = Date.parse("2026-01-31T12:00:00Z");
  const log = new RecentRequests(allResources, () => now);
  /** @param minutes since the first look */
  const record = (site: number, status: number, minutes = 0, path = "/restapi/brands.json") => {
    now += 1000;
    const problem = status >= 400 ? new ProblemError("not-found", "x".repeat(400)) : undefined;
    const request = { method: "GET", headers: new HeaderFields(new Map()) };
    const context = { request, target: { path, query: "" }, id: new RequestId(["r"]), site: { id: site }, problem };
    const response = { status, headers: [], body: null };
    log.record(context as unknown as RequestContext, response, 1, performance.now() + minutes * 60_000);
  };
  const statuses = (site: number) => log.answer(site, {}).requests.map(({ status }) => status);
  return { record, statuses };
}

test("successful requests are logged only for ten minutes after somebody has looked, problems always", () => {
  const { record, statuses } = startLog();
  record(1, 200);
  record(1, 404);
  expect(statuses(1)).toEqual([404]);
  record(1, 200, 9);
  record(2, 200, 9);
  record(1, 200, 11);
  record(1, 500, 11);
  expect(statuses(1)).toEqual([500, 200, 404]);
  expect(statuses(2)).toEqual([]);
});

test("recent requests: last 200 problems and 200 others per site", () => {
  const { record, statuses } = startLog();
  statuses(1);
  record(2, 404);
  for (let i = 0; i < 300; i++) record(1, 200);
  expect(statuses(1)).toEqual(new Array(200).fill(200));
  for (let i = 0; i < 300; i++) record(1, 404);
  expect(statuses(1)).toEqual(new Array(200).fill(404));
  expect(statuses(2)).toEqual([404]);
});

test("recent requests: over the total, the site quiet for longest loses its log", () => {
  const { record, statuses } = startLog();
  const path = `/${"p".repeat(5000)}`;
  for (let site = 1; site <= 60; site++) {
    for (let i = 0; i < 200; i++) record(site, 404, 0, path);
    record(1, 404);
  }
  expect(statuses(2)).toEqual([]);
  expect(statuses(60)).toHaveLength(200);
  expect(statuses(1)).toHaveLength(200);
});
