// Runs the cases one after another, and removes the records they created.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Case } from "./case.ts";
import { allCases } from "./cases/all.ts";
import { findPromise, readPromises } from "./contract.ts";
import { watchOthers } from "./others.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import type { Format } from "./records.ts";
import { send, untilAllowed } from "./requests.ts";
import { BrokenPromise, NotTested, Shop, type Target } from "./shop.ts";

/** A case's result in one format. */
export interface Outcome {
  /** Section, promise and case, such as `7.1b`. */
  readonly number: string;
  readonly title: string;
  readonly format: Format;
  readonly result: "passed" | "failed" | "not tested";
  /** What was expected, or why the case wasn't tested. */
  readonly reason?: string;
  /** The request as a shell command. */
  readonly command?: string;
}

export interface RunOptions extends Target {
  readonly formats: readonly Format[];
  /** Selects cases by the start of their number, or by part of their promise or title. */
  readonly only?: string | undefined;
  readonly report?: (outcome: Outcome) => void;
}

export interface NumberedCase extends Case {
  readonly number: string;
}

/** Numbers all cases by their place in docs/contract.md. @throws if a case's promise isn't there */
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

/** Runs the cases until `signal` is aborted. Removes their records after each one, and again at the end. */
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
    const reason = error instanceof BrokenPromise ? `expected ${error.expected}` : `the case failed: ${error}`;
    return { result: "failed", reason, command: error instanceof BrokenPromise ? error.command : shop.lastCommand };
  }
}

function isSelected({ number, promise, title }: NumberedCase, only: string | undefined): boolean {
  if (!only) return true;
  return /^[\d.]+[a-z]?$/.test(only)
    ? number === only || new RegExp(`^${RegExp.escape(only)}(?:[.a-z]|$)`).test(number)
    : `${number} ${promise} ${title}`.toLowerCase().includes(only.toLowerCase());
}

/** Deletes the records we got a response for. Ignores errors, because `removeMarked` deletes the rest. */
async function removeCreated(target: Target, created: Map<string, string>): Promise<void> {
  const entries = [...created];
  created.clear();
  for (const [record, key] of entries) await clean(target, "DELETE", record.split(" ")[0] ?? "", key).catch(() => {});
}

/** Deletes every record and webhook with the run's mark in its name or URL, so that a lost response leaves none behind. */
async function removeMarked(target: Target, run: string): Promise<void> {
  for (const key of [target.key, target.extras.sandboxKey].filter((one) => one !== undefined)) {
    for (const path of ["brands", "orderstatuses"]) {
      const query = `filter[Name][contains]=${run}&fields=ID&limit=1000`;
      const text = await clean(target, "GET", `/restapi/${path}.json?${query}`, key).catch(() => "");
      for (const [, id] of text.matchAll(/"ID":(\d+)/g))
        await clean(target, "DELETE", `/restapi/${path}/${id}.json`, key);
    }
  }
  const { webhookKey } = target.extras;
  if (!webhookKey) return;
  const text = await clean(target, "GET", "/restapi/webhooks.json", webhookKey).catch(() => "");
  for (const [, id] of text.matchAll(new RegExp(`"ID":(\\d+),"URL":"https://${run}`, "g")))
    await clean(target, "DELETE", `/restapi/webhooks/${id}.json`, webhookKey);
}

/** Stops the receiver once the last changes have arrived, so that no delivery fails. */
async function stopReceiver(target: Target, receiver: Receiver): Promise<void> {
  const text = await clean(target, "GET", "/restapi/changes.json?since=now", target.key).catch(() => "");
  const revisionIn = (page: string) => Number(/"Next":\s*"[^".]*\.(\d+)"/.exec(page)?.[1] ?? 0);
  if (receiver.events.length > 0) await receiver.find(({ body }) => revisionIn(body) >= revisionIn(text));
  await receiver.stop();
}

async function clean({ url }: Target, method: string, path: string, key: string): Promise<string> {
  const headers = { "X-API-AUTH": key };
  const request = { method, url: url + path, headers, isFresh: false, secrets: new Map() };
  const sendNow = () => send({ ...request, signal: AbortSignal.timeout(10_000) });
  return (await untilAllowed(sendNow)).text;
}
