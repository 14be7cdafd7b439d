// One query serves every request that arrived before it was sent, and none that came later.

import { expect, test } from "bun:test";
import type { Engine } from "../../../../src/model/engine.ts";
import { ProblemError } from "../../../../src/model/errors.ts";
import type { Head } from "../../../../src/model/head.ts";
import { HeadQueries, type HeadQueryResult } from "../../../../src/store/reads/head-queries.ts";
import { createManualEngine } from "../../../support/engine/manual-engine.ts";

const head = (revision: number): Head => ({ revision, epoch: "a" });
const revisions = ({ heads }: HeadQueryResult) =>
  Object.fromEntries([...heads].map(([site, one]) => [site, one.revision]));
const headQueriesOf = (engine: Engine) =>
  new HeadQueries(async (sites) => {
    const heads = await engine.readHeads(sites);
    return {
      heads: new Map(sites.map((site, index) => [site, heads[index] as Head])),
      knownRevisions: new Map(),
      commitGeneration: 0,
      catchUpsBySite: new Map(),
    };
  });
const down = () => new ProblemError("unavailable", "down");

test("head query: a request during one shares the next", async () => {
  const { engine, next, waiting } = createManualEngine();
  const sharedHeads = headQueriesOf(engine);
  const early = sharedHeads.queryHeads([1]);
  const late = [sharedHeads.queryHeads([1, 2]), sharedHeads.queryHeads([3])];
  const first = await next("readHeads");
  expect(first.args).toEqual([[1]]);
  expect(await waiting()).toEqual([]);
  let isServed = false;
  void late[0]?.then(() => {
    isServed = true;
  });
  first.resolve([head(5)]);
  expect(revisions(await early)).toEqual({ 1: 5 });
  const second = await next("readHeads");
  expect(second.args).toEqual([[1, 2, 3]]);
  expect(isServed).toBe(false);
  second.resolve([head(6), head(7), head(8)]);
  const responses = await Promise.all(late);
  expect(responses.map(revisions)).toEqual([
    { 1: 6, 2: 7, 3: 8 },
    { 1: 6, 2: 7, 3: 8 },
  ]);
  expect(responses[0]).toBe(responses[1] as HeadQueryResult);
  expect(await waiting()).toEqual([]);
});

test("head query: the next one is sent right after the last returns", async () => {
  const { engine, next } = createManualEngine();
  const sharedHeads = headQueriesOf(engine);
  for (const revision of [1, 2, 3]) {
    const asked = sharedHeads.queryHeads([1]);
    (await next("readHeads")).resolve([head(revision)]);
    expect(revisions(await asked)).toEqual({ 1: revision });
  }
});

test("head query: sent right away 1 ms after a result, even in the same tick", async () => {
  const { engine, next } = createManualEngine();
  let queries = 0;
  const readHeads = (sites: readonly number[]) => {
    queries++;
    return engine.readHeads(sites);
  };
  const sharedHeads = headQueriesOf({ ...engine, readHeads });
  const early = sharedHeads.queryHeads([1]);
  (await next("readHeads")).resolve([head(5)]);
  await early;
  for (const end = performance.now() + 2; performance.now() < end; );
  const late = sharedHeads.queryHeads([1]);
  expect(queries).toBe(2);
  (await next("readHeads")).resolve([head(6)]);
  expect(revisions(await late)).toEqual({ 1: 6 });
});

test("head query failure: waiting requests fail too, later ones query again", async () => {
  const { engine, next, waiting } = createManualEngine();
  const sharedHeads = headQueriesOf(engine);
  const asked = [sharedHeads.queryHeads([1]), sharedHeads.queryHeads([2]), sharedHeads.queryHeads([3])];
  const outcomes = Promise.allSettled(asked);
  (await next("readHeads")).reject(down());
  expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(await waiting()).toEqual([]);
  const later = sharedHeads.queryHeads([4]);
  (await next("readHeads")).resolve([head(1)]);
  expect(revisions(await later)).toEqual({ 4: 1 });
});

test("head query: a bug only fails that query's requests", async () => {
  const { engine, next } = createManualEngine();
  const sharedHeads = headQueriesOf(engine);
  const early = sharedHeads.queryHeads([1]).catch((error) => error.message);
  const late = sharedHeads.queryHeads([2]);
  (await next("readHeads")).reject(new Error("a bug"));
  expect(await early).toBe("a bug");
  (await next("readHeads")).resolve([head(9)]);
  expect(revisions(await late)).toEqual({ 2: 9 });
});
