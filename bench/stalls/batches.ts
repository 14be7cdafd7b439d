// Stalls that batch requests cause for other clients that read, and for those that write to the same site.

import { createsBody, faultyBody, malformedBody, matchedUpdatesBody } from "../batch-bodies.ts";
import { get, largeGoal } from "./requests.ts";
import type { Stall } from "./scenarios.ts";
import { ask, operate, type Target } from "./target.ts";

/** For other clients that write, in milliseconds. */
export const writersGoal = 250;

const size = 10_000;
const maxBodyBytes = 8 * 1024 * 1024;
const json = "/restapi/batch.json";
const matching = `${json}?match=AccountNumber`;

const jsonCreates = once(() => createsBody(size, "json"));
const xmlCreates = once(() => createsBody(size, "xml"));
const updates = once(() => matchedUpdatesBody(size, "Matched"));
const faulty = once(() => faultyBody(size));
const malformed = once(() => malformedBody(maxBodyBytes));

const loaded = get("/restapi/brands.json");
const creates = "batch of 10,000 creates";

export const batchStalls: readonly Stall[] = [
  ...withWriters({ name: `${creates}, JSON`, before: prepare(jsonCreates), work: send(json, jsonCreates) }),
  ...withWriters({
    name: `${creates}, XML`,
    before: prepare(xmlCreates),
    work: send("/restapi/batch.xml", xmlCreates),
  }),
  ...withWriters({ name: "batch of 10,000 matched updates", before: prepare(updates), work: send(matching, updates) }),
  { name: `${creates}, dry run`, before: prepare(jsonCreates), work: send(`${json}?dryRun=1`, jsonCreates) },
  {
    name: "batch of 10,000 matched updates, dry run",
    before: prepare(updates),
    work: send(`${matching}&dryRun=1`, updates),
  },
  ...withWriters({
    name: "batch of 10,000, half of them invalid, atomic=0",
    before: prepare(faulty),
    work: send(`${json}?atomic=0`, faulty),
  }),
  {
    name: "batch of 10,000, half of them invalid",
    before: prepare(faulty),
    work: send(json, faulty, 400),
  },
  {
    name: "batch of 8 MiB, malformed at the end",
    goal: largeGoal,
    before: prepare(malformed),
    work: send(json, malformed, 400),
  },
  ...withWriters({ name: "3 batches of 10,000 creates at once", before: addKey, work: threeAtOnce }),
  {
    name: `${creates}, replayed`,
    before: inOrder(prepare(jsonCreates), sendRepeatable),
    work: sendRepeatable,
  },
  ...withWriters({ name: `undo of a ${creates}`, before: inOrder(prepare(jsonCreates), storeRun), work: undoRun }),
  { name: "MCP: batch of 1,000 creates", before: loaded, work: batchOfAgent },
];

/** Returns a stall, and the same with another client that writes. */
export function withWriters(stall: Stall): Stall[] {
  return [stall, { ...stall, name: `${stall.name}: other writers`, probe: "writes", goal: writersGoal }];
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Returns a preparation that loads the site and makes the body, so that these don't count. */
function prepare(body: () => string) {
  return (target: Target) => {
    body();
    return loaded(target);
  };
}

function inOrder(...works: readonly ((target: Target) => Promise<unknown>)[]) {
  return async (target: Target) => {
    for (const work of works) await work(target);
  };
}

/** Returns a function that sends a batch request. @param status the response's expected status */
function send(path: string, body: () => string, status = 200, headers: Record<string, string> = {}) {
  return async (target: Target): Promise<string> => {
    const response = await ask(target, path, { method: "POST", body: body(), headers });
    const text = await response.text();
    if (response.status !== status) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
    return text;
  };
}

const otherKeys = new WeakMap<Target, string>();

/** A key can have two batch requests at a time, and a site three, so we need another key. */
async function addKey(target: Target) {
  await prepare(jsonCreates)(target);
  const { key } = await operate(target, "POST", "/sites/large/keys", { label: "batches", scope: "write" });
  otherKeys.set(target, key);
}

function threeAtOnce(target: Target) {
  const key = otherKeys.get(target) as string;
  return Promise.all([{}, {}, { "X-API-AUTH": key }].map((headers) => send(json, jsonCreates, 200, headers)(target)));
}

function sendRepeatable(target: Target) {
  return send(json, jsonCreates, 200, { "Idempotency-Key": "stalls" })(target);
}

const runs = new WeakMap<Target, string>();

async function storeRun(target: Target) {
  runs.set(target, JSON.parse(await send(json, jsonCreates)(target)).Run);
}

function undoRun(target: Target) {
  return send("/restapi/undo.json", () => JSON.stringify({ Run: runs.get(target) }))(target);
}

/** Sends a batch as agents do: first without `confirm`, then with the value from the response. */
async function batchOfAgent(target: Target) {
  const operations = JSON.parse(createsBody(1000, "json")).Operations;
  const call = async (more: object) => {
    const params = { name: "batch", arguments: { operations, ...more } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const text = await send("/mcp", () => body, 200, { "Content-Type": "application/json" })(target);
    const { result } = JSON.parse(text);
    if (!result || result.isError) throw new Error(`MCP: ${text.slice(0, 300)}`);
    return result.structuredContent;
  };
  const { Confirm } = await call({});
  await call({ confirm: Confirm });
}
