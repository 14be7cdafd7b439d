// Validates the rows of a site file. It's untrusted input like any other: the checksum proves that it's complete, but not who wrote it.

import type { DumpedRow } from "../../model/engine.ts";
import { fault, invalidRecordError, ProblemError } from "../../model/errors.ts";
import { isJsonObject, validateText } from "../../model/field.ts";
import { maxTimeMs } from "../../model/limits.ts";
import { isId, type Values } from "../../model/record.ts";
import { publicResources, type Resource } from "../../model/resource.ts";
import { systemSite } from "../../model/system-site.ts";
import { allResources } from "../../resources/all.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { ConsistencyChecker } from "../../store/database/consistency-check.ts";
import { maxWebhooksOfSite } from "../webhooks/webhook-creation.ts";

type Row = DumpedRow["row"];

/** A record in the system site, not validated yet. */
export interface SystemRecordInFile {
  readonly id: number;
  readonly values: Readonly<Record<string, unknown>>;
}

/** The records at the start of a file, and the rows that follow. */
export interface SiteFile {
  readonly site: SystemRecordInFile;
  readonly keys: readonly SystemRecordInFile[];
  readonly webhooks: readonly SystemRecordInFile[];
  /** The row of `sites`; undefined if the site was never written to. */
  readonly state: Row | undefined;
  readonly rows: AsyncIterable<DumpedRow>;
}

/** Keys are stored in one transaction. */
const maxKeys = 10_000;
/** In characters of JSON: the limit for requests, with room for escapes. */
const maxBodyLength = 2 * 1024 * 1024;

const operations = ["create", "update", "delete"];
const actor = /^[^\p{Cc}\p{Cs}]{1,128}$/u;
const token = /^[\x20-\x7e]{1,255}$/;

/** @throws ProblemError `bad-request`, or the error that `rows` throws */
export async function readSiteFile(rows: AsyncGenerator<DumpedRow>): Promise<SiteFile> {
  let state: Row | undefined;
  let site: SystemRecordInFile | undefined;
  const keys: SystemRecordInFile[] = [];
  const webhooks: SystemRecordInFile[] = [];
  let next = await rows.next();
  for (; !next.done; next = await rows.next()) {
    const { table, row } = next.value;
    if (table === "sites" && !state && !site) state = row;
    else if (table !== "records" || row.site_id !== systemSite) break;
    else if (row.resource === siteResource.name && !site) site = parseSystemRecord(row);
    else if (row.resource === keyResource.name && site && keys.length < maxKeys) keys.push(parseSystemRecord(row));
    else if (row.resource === webhookResource.name && site && webhooks.length < maxWebhooksOfSite)
      webhooks.push(parseSystemRecord(row));
    else throw invalidSiteFileError(site ? "it has several sites, or too many keys or webhooks" : "it has no site");
  }
  if (!site) throw invalidSiteFileError("it has no site");
  return { site, keys, webhooks, state, rows: withFirst(next.done ? undefined : next.value, rows) };
}

/**
 * Yields the rows for the site `id`, ending with `file.state`. Skips rows of keys that aren't in `keyIds`.
 * @param keyIds new key IDs by the IDs in the file
 * @param onOtherTable called with key uses under their new IDs, and with webhook states and secrets, which aren't validated yet
 * @throws ProblemError `bad-request` at the first invalid row, or at the end if rows are missing
 */
export async function* validateSiteRows(
  { state, rows }: SiteFile,
  id: number,
  keyIds: ReadonlyMap<number, number>,
  onOtherTable: (row: DumpedRow) => void,
): AsyncGenerator<DumpedRow> {
  using checker = new ConsistencyChecker();
  if (state) checker.add({ table: "sites", row: toState(state, id) });
  for await (const { table, row } of rows) {
    if (isWebhookTable(table)) {
      onOtherTable({ table, row });
      continue;
    }
    if (!state && table !== "key_uses")
      throw invalidSiteFileError("it has records or changes, but its site says it was never written to");
    const keyId = keyIds.get(Number(row.key_id));
    requireRow(table, row, state?.id);
    if (table === "key_uses" && keyId !== undefined) onOtherTable({ table, row: { ...row, key_id: keyId } });
    if (table === "key_uses" || (table === "idempotency" && keyId === undefined)) continue;
    const moved = { table, row: { ...row, site_id: id, ...(keyId === undefined ? {} : { key_id: keyId }) } };
    checker.add(moved);
    if (checker.firstInconsistency) throw invalidSiteFileError(checker.firstInconsistency);
    yield moved;
  }
  const [fault] = checker.finish();
  if (fault) throw invalidSiteFileError(fault);
  if (state) yield { table: "sites", row: toState(state, id) };
}

function isWebhookTable(table: string): boolean {
  return table === "webhook_state" || table === "webhook_secrets";
}

/** Only accepts JSON exactly as `JSON.stringify` writes it, and not nested too deeply. */
function parseObject(text: unknown): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(String(text));
    return isJsonObject(value) && JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

function parseSystemRecord({ id, body }: Row): SystemRecordInFile {
  const record = parseObject(body);
  if (!isId(id) || !record) throw invalidSiteFileError("its site, a key or a webhook is damaged");
  const { ID: _, ...values } = record;
  return { id, values };
}

async function* withFirst(first: DumpedRow | undefined, rows: AsyncGenerator<DumpedRow>): AsyncGenerator<DumpedRow> {
  if (first) yield first;
  yield* rows;
}

/** The row of `sites` with another ID. The engine replaces its epoch. */
function toState(state: Row, id: number): Row {
  const lastIds = parseObject(state.last_ids);
  const names = publicResources(allResources).map(({ name }) => name);
  const isFit =
    isCount(state.revision) &&
    (state.revision as number) > 0 &&
    isCount(state.floor) &&
    Number(state.floor) <= Number(state.revision) &&
    isTime(state.last_at) &&
    lastIds !== undefined &&
    Object.entries(lastIds).every(([name, last]) => names.includes(name) && isCount(last));
  if (!isFit) throw invalidSiteFileError("the state of its site is damaged");
  return { ...state, id, epoch: "new" };
}

/** @param site the site's ID in the file @throws ProblemError `bad-request` */
function requireRow(table: string, row: Row, site: unknown): void {
  if (table === "key_uses") {
    if (isTime(row.at)) return;
    throw invalidSiteFileError("a key was last used at an invalid time");
  }
  const name = `${table === "journal" ? `entry ${row.revision}` : `${row.resource ?? row.operation} ${row.id}`}`;
  const fault = table === "sites" ? "there's more than one site" : rowFault(table, row, site);
  if (fault) throw invalidSiteFileError(`${name}: ${fault}`);
}

function rowFault(table: string, row: Row, site: unknown): string | undefined {
  if (row.site_id !== site) return "it belongs to another site";
  if (!isId(row.id) || !isId(row.revision)) return "its ID or revision is invalid";
  if (table === "records") return row.body === null ? undefined : bodyFault(row, row.body);
  if (!isTime(row.at)) return "its time is invalid";
  if (!operations.includes(String(row.operation))) return "its operation is unknown";
  if (table === "idempotency") return token.test(String(row.name)) && row.digest ? undefined : "its key is damaged";
  if (!actor.test(String(row.actor))) return "its actor is damaged";
  if (row.run !== null && !token.test(String(row.run))) return "its run is damaged";
  return bodyFault(row, row.body) ?? (row.before === null ? undefined : bodyFault(row, row.before));
}

/** What's wrong with a record's JSON. As in the database, fields that only another version of the program declares are fine. */
function bodyFault({ resource: name, id }: Row, body: unknown): string | undefined {
  const resource = publicResources(allResources).find((one) => one.name === name);
  if (!resource) return "this version of the program doesn't have that resource";
  const record = String(body).length > maxBodyLength ? undefined : parseObject(body);
  if (!record || record.ID !== id) return "its record is damaged";
  return fieldFault(resource, record);
}

function fieldFault(resource: Resource, record: Record<string, unknown>): string | undefined {
  for (const { path, keys, field } of resource.textFields) {
    let value: unknown = record;
    for (const key of keys) value = value === undefined ? undefined : (Object(value)[key] as unknown);
    const wrong = value === undefined && !field.required ? undefined : validateText(field, value);
    if (wrong) return `\`${path}\`: ${wrong.detail}`;
  }
  return undefined;
}

export function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isTime(value: unknown): boolean {
  return isCount(value) && (value as number) <= maxTimeMs;
}

export function invalidSiteFileError(why: string): ProblemError {
  return new ProblemError("bad-request", `can't import this file: ${why}`);
}

/** For fields that are known to look like a time, such as `2026-13-31T25:00Z`. */
export function requireTime(field: string, values: Values): void {
  const { [field]: value = "" } = values;
  if (value === "" || !Number.isNaN(Date.parse(String(value)))) return;
  throw invalidRecordError([{ field, ...fault("invalid-time") }]);
}
