// The requests each process counts (key-traffic.ts), and how several processes' counts are combined (common/activity.ts).

import { expect, test } from "bun:test";
import { joinKeyTraffic, joinRequests, type LoggedRequest } from "../../../src/http/common/activity.ts";
import { KeyTraffic } from "../../../src/http/key-traffic.ts";

const hour = 3_600_000;
const start = Date.parse("2026-01-31T12:30:00Z");

/** Counts of 24 hours: 0, except the given numbers at the given numbers of hours before the last. */
function counts(ago: Readonly<Record<number, number>>): number[] {
  return Array.from({ length: 24 }, (_, index) => ago[23 - index] ?? 0);
}

/** Keys that are counted, and a clock that the test sets. */
function startCounting() {
  let at = start;
  let ticks = 0;
  const traffic = new KeyTraffic(() => at);
  return {
    count: (key: number, status = 200) => {
      // The process looks at its clock at least each minute.
      ticks += 60_000;
      traffic.count(key, status, performance.now() + ticks);
    },
    passHours: (hours: number) => {
      at += hours * hour;
    },
    counted: (...keys: number[]) => traffic.answer(keys).keys,
  };
}

test("key traffic: by hour, for 24 hours", () => {
  const { count, passHours, counted } = startCounting();
  count(1);
  count(1, 404);
  count(2);
  passHours(3);
  count(1, 500);
  expect(counted(1, 9)).toEqual([{ id: 1, requests: counts({ 3: 2, 0: 1 }), errors: counts({ 3: 1, 0: 1 }) }]);
  passHours(21);
  expect(counted(1, 2)).toEqual([{ id: 1, requests: counts({ 21: 1 }), errors: counts({ 21: 1 }) }]);
  passHours(100);
  expect(counted(1, 2)).toEqual([]);
});

test("key traffic, clock set back: counts are lost, not put into wrong hours", () => {
  const { count, passHours, counted } = startCounting();
  count(1);
  passHours(-5);
  count(1);
  expect(counted(1)).toEqual([{ id: 1, requests: counts({ 0: 1 }), errors: counts({}) }]);
});

test("key traffic: at most 10,000 keys", () => {
  const { count, counted } = startCounting();
  for (let key = 1; key <= 10_001; key++) count(key);
  expect(counted(1)).toEqual([]);
  expect(counted(2, 10_001)).toHaveLength(2);
});

test("key traffic: processes' counts added hour by hour, even if one hasn't started the current hour", () => {
  const answer = (since: number, at: number, id: number, ago: Record<number, number>) => ({
    ...{ kind: "key-traffic" as const, since, hour: at },
    keys: [{ id, requests: counts(ago), errors: counts({}) }],
  });
  const joined = joinKeyTraffic([
    answer(5, 100, 1, { 0: 1, 1: 2 }),
    answer(7, 99, 1, { 0: 10, 23: 1 }),
    answer(6, 100, 2, {}),
  ]);
  expect(joined).toMatchObject({ since: 7, hour: 100 });
  expect(joined.keys).toEqual([
    { id: 1, requests: counts({ 0: 1, 1: 12 }), errors: counts({}) },
    { id: 2, requests: counts({}), errors: counts({}) },
  ]);
});

test("recent requests: last 200 of all processes, latest first", () => {
  const request = (at: number): LoggedRequest => ({
    ...{ id: String(at), at, method: "GET", path: "/", status: 200, milliseconds: 1, bytes: 0, request: "" },
  });
  const even = Array.from({ length: 150 }, (_, index) => request(300 - 2 * index));
  const odd = Array.from({ length: 150 }, (_, index) => request(299 - 2 * index));
  const { requests } = joinRequests([
    { kind: "requests", requests: even },
    { kind: "requests", requests: odd },
  ]);
  expect(requests.map(({ at }) => at)).toEqual(Array.from({ length: 200 }, (_, index) => 300 - index));
});
