// Token buckets (contract section 9), including what happens at their maximum number.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { maxBuckets, TokenBuckets } from "../../../src/lib/token-buckets.ts";

const limit = { tokensPerSecond: 2, maxTokens: 4 };
const drain = (buckets: TokenBuckets<string>, name: string, now: number) => {
  let taken = 0;
  while (buckets.consumeToken(name, limit, now) !== undefined) taken++;
  return taken;
};

describe("a token bucket", () => {
  test("gives its tokens, and refills at the rate up to the burst", () => {
    const buckets = new TokenBuckets<string>();
    expect(drain(buckets, "a", 0)).toBe(4);
    expect(drain(buckets, "a", 499)).toBe(0);
    expect(drain(buckets, "a", 500)).toBe(1);
    expect(drain(buckets, "a", 1499)).toBe(1);
    expect(drain(buckets, "a", 1500)).toBe(1);
    expect(drain(buckets, "a", 60_000)).toBe(4);
    expect([buckets.consumeToken("a", limit, 90_000), buckets.consumeToken("a", limit, 90_000)]).toEqual([3, 2]);
  });

  test("gives exactly what rate and burst allow, for names and times in any order", () => {
    const step = fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 0, max: 1500 }));
    const property = fc.property(fc.array(step, { maxLength: 200, size: "max" }), (steps) => {
      const buckets = new TokenBuckets<string>(3);
      // In thousandths of a token, so that all values are whole numbers.
      const model = new Map<string, { thousandths: number; at: number }>();
      let now = 0;
      for (const [name, pause] of steps) {
        now += pause;
        const before = model.get(name) ?? { thousandths: limit.maxTokens * 1000, at: now };
        const full = Math.min(limit.maxTokens * 1000, before.thousandths + (now - before.at) * limit.tokensPerSecond);
        const left = full - 1000;
        expect(buckets.consumeToken(name, limit, now)).toBe(left < 0 ? undefined : Math.floor(left / 1000));
        model.set(name, { thousandths: left < 0 ? full : left, at: now });
      }
    });
    fc.assert(property, { numRuns: 500 });
  });

  test.each([
    1, 3, 7, 11, 13, 30, 60, 97, 300, 999,
  ])("%i per second: exactly as many each second", (tokensPerSecond) => {
    const buckets = new TokenBuckets<string>();
    const start = Date.parse("2026-01-01T00:00:00.123Z");
    for (let second = 0; second < 5; second++) {
      let taken = 0;
      while (
        buckets.consumeToken("a", { tokensPerSecond, maxTokens: tokensPerSecond }, start + second * 1000) !== undefined
      )
        taken++;
      expect([second, taken]).toEqual([second, tokensPerSecond]);
    }
  });

  test("clock set back: gives again after the time it takes to fill", () => {
    const buckets = new TokenBuckets<string>();
    drain(buckets, "a", 1e9);
    expect(drain(buckets, "a", 0)).toBe(0);
    expect(drain(buckets, "a", 2000)).toBe(4);
  });

  test("changed limit: applies once it has filled", () => {
    const buckets = new TokenBuckets<string>();
    drain(buckets, "a", 0);
    expect(buckets.consumeToken("a", { tokensPerSecond: 100, maxTokens: 100 }, 2000)).toBe(99);
  });
});

describe("the debt of a token bucket", () => {
  test("refilled before the bucket gives again, and never forgiven", () => {
    const buckets = new TokenBuckets<string>();
    expect(buckets.addDebt("a", 10, limit, 0)).toBe(10);
    // The bucket lacks 10 tokens, and 4 is a full bucket. After 3 s it lacks 4, and after half a second more it has one.
    expect(drain(buckets, "a", 0)).toBe(0);
    expect(drain(buckets, "a", 3499)).toBe(0);
    expect(buckets.addDebt("a", 0, limit, 3499)).toBeCloseTo(3.002, 6);
    expect(drain(buckets, "a", 3500)).toBe(1);
    expect(drain(buckets, "a", 60_000)).toBe(4);
  });

  test("adds up, including what was missing before", () => {
    const buckets = new TokenBuckets<string>();
    buckets.consumeToken("a", limit, 0);
    expect([buckets.addDebt("a", 2, limit, 0), buckets.addDebt("a", 100, limit, 500)]).toEqual([3, 102]);
    expect(drain(buckets, "a", 500 + 49_499)).toBe(0);
    expect(drain(buckets, "a", 500 + 49_500)).toBe(1);
  });

  test("clock set back: lasts as long as before", () => {
    const buckets = new TokenBuckets<string>();
    buckets.addDebt("a", 10, limit, 1e9);
    expect(drain(buckets, "a", 0)).toBe(0);
    expect(drain(buckets, "a", 3499)).toBe(0);
    expect(drain(buckets, "a", 3500)).toBe(1);
  });

  test("keeps its bucket while others can be evicted", () => {
    const buckets = new TokenBuckets<string>(4);
    buckets.addDebt("debtor", 100, limit, 0);
    for (let index = 0; index < 20; index++) buckets.consumeToken(`n${index}`, limit, index * 1000);
    expect(drain(buckets, "debtor", 20_000)).toBe(0);
    expect(drain(buckets, "debtor", 48_500)).toBe(1);
  });

  test("shared bucket: doesn't burden others", () => {
    const buckets = new TokenBuckets<string>(2);
    for (const name of ["a", "b"]) drain(buckets, name, 0);
    expect(buckets.addDebt("c", 100, limit, 0)).toBe(4);
    expect([drain(buckets, "d", 499), drain(buckets, "d", 500)]).toEqual([0, 1]);
  });

  test("same as that many requests, counted even without a token", () => {
    const step = fc.record({ pause: fc.integer({ min: 0, max: 3000 }), debt: fc.integer({ min: 0, max: 12 }) });
    const property = fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
      const buckets = new TokenBuckets<string>();
      let missing = 0;
      let now = 0;
      for (const { pause, debt } of steps) {
        now += pause;
        missing = Math.max(0, missing - pause * 2);
        const isEmpty = missing + 1000 > 4000;
        expect(buckets.consumeToken("a", limit, now) === undefined).toBe(isEmpty);
        missing += (isEmpty ? 0 : 1000) + debt * 1000;
        expect(buckets.addDebt("a", debt, limit, now)).toBeCloseTo(missing / 1000, 6);
      }
    });
    fc.assert(property, { numRuns: 300 });
  });
});

describe("very many buckets", () => {
  const fill = (buckets: TokenBuckets<string>, from: number, count: number, now: number) => {
    for (let index = from; index < from + count; index++) buckets.consumeToken(`n${index}`, limit, now);
  };

  test("at most the maximum, and others don't refill a waiting client's", () => {
    const buckets = new TokenBuckets<string>();
    drain(buckets, "attacker", 0);
    fill(buckets, 0, maxBuckets * 2, 0);
    expect(buckets.size).toBe(maxBuckets);
    expect(drain(buckets, "attacker", 0)).toBe(0);
  });

  test("clients beyond the maximum share one", () => {
    const buckets = new TokenBuckets<string>(10);
    for (let index = 0; index < 10; index++) drain(buckets, `n${index}`, 0);
    expect([drain(buckets, "x", 0), drain(buckets, "y", 0), drain(buckets, "z", 0)]).toEqual([4, 0, 0]);
  });

  test("only full ones make room for new ones", () => {
    const buckets = new TokenBuckets<string>(10);
    for (let index = 0; index < 9; index++) drain(buckets, `n${index}`, 0);
    buckets.consumeToken("once", limit, 0);
    drain(buckets, "new", 500);
    expect(buckets.size).toBe(10);
    expect(drain(buckets, "new", 500)).toBe(0);
    expect(drain(buckets, "once", 500)).toBe(4);
    for (let index = 0; index < 9; index++) expect(drain(buckets, `n${index}`, 500)).toBe(1);
  });

  test("few are left once an attack is over", () => {
    const buckets = new TokenBuckets<string>();
    fill(buckets, 0, 50_000, 0);
    fill(buckets, 100_000, 25_000, 60_000);
    expect(buckets.size).toBe(25_000);
  });

  test("own bucket while fewer than the maximum lack tokens, otherwise the shared one", () => {
    const names = fc.constantFrom(..."abcdefgh");
    const step = fc.tuple(names, fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 8 }));
    const property = fc.property(fc.array(step, { maxLength: 100, size: "max" }), (steps) => {
      const most = 4;
      const buckets = new TokenBuckets<string>(most);
      // The times at which the buckets that are not full will be full again.
      const model = new Map<string, number>();
      const lasting = 1000 / limit.tokensPerSecond;
      let now = 0;
      for (const [name, takes, pause] of steps) {
        now += pause * 125;
        for (let count = 0; count < takes; count++) {
          for (const [known, fullAt] of model) if (fullAt <= now) model.delete(known);
          const own = [...model.keys()].filter((known) => known !== "shared");
          const mine = model.has(name) || own.length < most ? name : "shared";
          const missing = (model.get(mine) ?? now) - now;
          const left = (limit.maxTokens * lasting - missing) / lasting - 1;
          expect(buckets.consumeToken(name, limit, now)).toBe(left < 0 ? undefined : Math.floor(left));
          if (left >= 0) model.set(mine, now + missing + lasting);
          expect(buckets.size).toBeLessThanOrEqual(most);
        }
      }
    });
    fc.assert(property, { numRuns: 1000 });
  });
});
