// Batch requests and undo (contract section 14), and how they are written in JSON and XML.

import { type Format, readRecord, recordOf, type ShopRecord, shopResources, writeRecord } from "./records.ts";
import type { Answer } from "./requests.ts";
import type { CallOptions, Shop } from "./shop.ts";
import { type Element, escapeXml, readXml } from "./xml.ts";

export interface Operation {
  readonly Method: string;
  readonly Resource: string;
  readonly ID?: number;
  readonly IfMatch?: string;
  readonly Record?: ShopRecord;
}

export interface Result {
  readonly status: number;
  /** Undefined if the operation failed. */
  readonly changed: boolean | undefined;
  readonly etag: string | undefined;
  readonly record: ShopRecord | undefined;
  readonly hasProblem: boolean;
}

export interface Batch {
  readonly answer: Answer;
  readonly run: string | null;
  readonly results: readonly Result[];
}

/** Sends a batch request, and fails unless the response is a 200. */
export async function sendBatch(shop: Shop, operations: readonly Operation[], query = "", options: CallOptions = {}) {
  const answer = await callBatch(shop, operations, query, options);
  shop.status(answer, 200);
  try {
    const read = shop.format === "json" ? readJson(answer.text) : readBatchXml(answer.text, operations);
    return { answer, ...read };
  } catch (error) {
    return shop.fail(answer, `the response to a batch request: ${(error as Error).message}`);
  }
}

export function callBatch(shop: Shop, operations: readonly Operation[], query = "", options: CallOptions = {}) {
  return shop.call("POST", `batch?${query}`, { body: writeBatch(operations, shop.format), ...options });
}

/** Undoes a run, and fails unless the response is a 200. */
export async function undo(shop: Shop, run: string | null, query = "", options: CallOptions = {}) {
  const answer = await callUndo(shop, run, query, options);
  shop.status(answer, 200);
  return { answer, ...readUndone(shop.format, answer.text) };
}

export function callUndo(shop: Shop, run: string | null, query = "", options: CallOptions = {}): Promise<Answer> {
  const body = shop.format === "json" ? JSON.stringify({ Run: run }) : `<Undo Run="${escapeXml(String(run))}"/>`;
  return shop.call("POST", `undo?${query}`, { body, ...options });
}

export function writeBatch(operations: readonly Operation[], format: Format): string {
  if (format === "json") return JSON.stringify({ Operations: operations });
  const elements = operations.map(({ Record, ...attributes }) => {
    const texts = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`);
    const path = attributes.Resource in shopResources ? attributes.Resource : "orderstatuses";
    return `<Operation${texts.join("")}>${Record ? writeRecord(path, Record, "xml") : ""}</Operation>`;
  });
  return `<Batch>${elements.join("\n")}</Batch>`;
}

function readJson(text: string): Pick<Batch, "run" | "results"> {
  const { Run, Results, ...others } = JSON.parse(text);
  if (Object.keys(others).length > 0 || !Array.isArray(Results)) throw new Error("members other than Run and Results");
  const results = Results.map((one) => ({
    status: one.Status,
    changed: one.Changed,
    etag: one.ETag ?? undefined,
    record: one.Record && readRecord("", JSON.stringify(one.Record), "json"),
    hasProblem: one.Problem?.status === one.Status,
  }));
  return { run: Run, results };
}

function readBatchXml(text: string, operations: readonly Operation[]): Pick<Batch, "run" | "results"> {
  const root = readXml(text.replaceAll(/ xmlns="[^"]*"/g, ""));
  if (root.name !== "BatchResults") throw new Error(`the root is ${root.name}, not BatchResults`);
  const results = root.children.map((child, index) => {
    const { Status = "", Changed, ETag } = child.attributes;
    const [content] = child.children;
    const hasProblem = content?.name === "problem";
    return {
      status: Number(Status),
      changed: Changed === undefined ? undefined : Changed === "true",
      etag: ETag,
      record: content && !hasProblem ? recordOf(operations[index]?.Resource ?? "", content) : undefined,
      hasProblem,
    };
  });
  return { run: root.attributes.Run ?? null, results };
}

interface Undone {
  readonly run: string | null;
  readonly counts: readonly number[];
  readonly skipped: readonly string[];
}

/** `counts` has the deleted, restored and unchanged records; `skipped` has entries such as `brands 12`. */
function readUndone(format: Format, text: string): Undone {
  const members: Record<string, unknown> & { readonly Skipped?: unknown } =
    format === "json" ? JSON.parse(text) : toMembers(readXml(text));
  const skipped = (members.Skipped ?? []) as { Resource: string; ID: unknown }[];
  return {
    run: (members.Run as string | undefined) ?? null,
    counts: [members.Deleted, members.Restored, members.Unchanged].map(Number),
    skipped: skipped.map(({ Resource, ID }) => `${Resource} ${ID}`),
  };
}

function toMembers({ attributes, children }: Element): Record<string, unknown> {
  return { ...attributes, Skipped: children.map((child) => child.attributes) };
}
