// A run: all cases, one after the other, and the removal of the records that they have created.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Case } from "./case.ts";
import { allCases } from "./cases/all.ts";
import { findPromise, readPromises } from "./contract.ts";
import { watchOthers } from "./others.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import type { Format } from "./records.ts";
import { send } from "./requests.ts";
import { BrokenPromise, NotTested, Shop, type Target } from "./shop.ts";

/** The result of a case in one format. */
export interface Outcome {
  /** Section, promise and case, such as `7.1b`. */
  readonly number: string;
  readonly title: string;
  readonly format: Format;
  readonly result: "passed" | "failed" | "not tested";
  /** What was expected, or the reason why the case was not tested. */
  readonly reason?: string;
  /** The request, as a command of a shell. */
  readonly command?: string;
}

export interface RunOptions extends Target {
  readonly formats: readonly Format[];
  /** Selects the cases whose number begins with this text, or whose number, promise and title contain it. */
  readonly only?: string | undefined;
  /** Called with each result when it is known. */
  readonly report?: (outcome: Outcome) => void;
}

/** A case with its number. */
export interface NumberedCase extends Case {
  readonly number: string;
}

/** Returns all cases with their numbers, which follow from docs/contract.md. Throws if a case names no promise of the contract. */
export function numberCases(): NumberedCase[] {
  const promises = readPromises(readFileSync(new URL("../../../docs/contract.md", import.meta.url), "utf8"));
  const counts = new Map<string, number>();
  return allCases.map((one) => {
    const { number } = findPromise(promises, one.section, one.promise);
    const count = counts.get(number) ?? 0;
    counts.set(number, count + 1);
    return { ...one, number: number + String.fromCharCode(97 + count) };
  });
}

/** Runs the cases, and removes their records: after each case, and again at the end. Until `signal` is aborted. */
export async function runCases(options: RunOptions): Promise<Outcome[]> {
  const run = `conformance-${randomBytes(4).toString("hex")}`;
  const created = new Map<string, string>();
  const others = await watchOthers(options, run);
  const { webhookPort } = options.extras;
  const receiver = webhookPort ? await startReceiver(Number(webhookPort)) : undefined;
  let attempts = 0;
  const attempt = (one: Case, format: Format) =>
    resultOf(one, new Shop(options, format, { mark: `${run}-${++attempts}.`, created, receiver }));
  const outcomes: Outcome[] = [];
  try {
    for (const { one, format } of selectCases(options)) {
      let result = await attempt(one, format);
      if (result.result === "failed" && (await others.haveWritten())) result = await attempt(one, format);
      if (options.signal.aborted) break;
      outcomes.push({ number: one.number, title: one.title, format, ...result });
      options.report?.(outcomes.at(-1) as Outcome);
      await removeCreated(options, created);
    }
  } finally {
    await removeCreated(options, created);
    await removeMarked(options, run);
    if (receiver) await stopReceiver(options, receiver);
  }
  return outcomes;
}

/** Returns the selected cases, each with the formats in which it runs. */
function selectCases({ formats, only }: RunOptions): { one: NumberedCase; format: Format }[] {
  const selected = numberCases().filter((one) => isSelected(one, only));
  return selected.flatMap((one) => (one.isPerFormat ? formats : ["json" as const]).map((format) => ({ one, format })));
}

async function resultOf(one: Case, shop: Shop): Promise<Pick<Outcome, "result" | "reason" | "command">> {
  try {
    await one.run(shop);
    return { result: "passed" };
  } catch (error) {
    if (error instanceof NotTested) return { result: "not tested", reason: error.message };
    const reason = error instanceof BrokenPromise ? `expected ${error.expected}` : `the case ended: ${error}`;
    return { result: "failed", reason, command: error instanceof BrokenPromise ? error.command : shop.lastCommand };
  }
}

function isSelected({ number, promise, title }: NumberedCase, only: string | undefined): boolean {
  if (!only) return true;
  return /^[\d.]+[a-z]?$/.test(only)
    ? number === only || new RegExp(`^${RegExp.escape(only)}(?:[.a-z]|$)`).test(number)
    : `${number} ${promise} ${title}`.toLowerCase().includes(only.toLowerCase());
}

/** Deletes the records whose creation was answered. Ignores errors: `removeMarked` deletes the rest. */
async function removeCreated(target: Target, created: Map<string, string>): Promise<void> {
  const entries = [...created];
  created.clear();
  for (const [record, key] of entries) await clean(target, "DELETE", record.split(" ")[0] ?? "", key).catch(() => {});
}

/** Deletes every record whose name has the mark of the run, also if the response to its creation was lost. */
async function removeMarked(target: Target, run: string): Promise<void> {
  for (const key of [target.key, target.extras.sandboxKey].filter((one) => one !== undefined)) {
    for (const path of ["brands", "orderstatuses"]) {
      const query = `filter[Name][contains]=${run}&fields=ID&limit=1000`;
      const text = await clean(target, "GET", `/restapi/${path}.json?${query}`, key).catch(() => "");
      for (const [, id] of text.matchAll(/"ID":(\d+)/g))
        await clean(target, "DELETE", `/restapi/${path}/${id}.json`, key);
    }
  }
}

/** Waits for the events of the last changes, so that no delivery fails, and stops the receiver. */
async function stopReceiver(target: Target, receiver: Receiver): Promise<void> {
  const text = await clean(target, "GET", "/restapi/changes.json?since=now", target.key).catch(() => "");
  const revisionIn = (page: string) => Number(/"Next":\s*"[^".]*\.(\d+)"/.exec(page)?.[1] ?? 0);
  if (receiver.events.length > 0) await receiver.find(({ body }) => revisionIn(body) >= revisionIn(text));
  await receiver.stop();
}

async function clean({ url }: Target, method: string, path: string, key: string): Promise<string> {
  const headers = { "X-API-AUTH": key };
  const signal = AbortSignal.timeout(10_000);
  return (await send({ method, url: url + path, headers, isFresh: false, secrets: new Map(), signal })).text;
}
