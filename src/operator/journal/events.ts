// Records what happens without changing a record: sign-ins, refusals, imports, exports, backups. Each of these events is an entry in the system site's
// journal, so it's backed up, restored, pruned and followed like any other change (audit-log.ts reads it).
//
// Only the journal grows. There's one record for each operator's last sign-in, so that it's known even after the journal was pruned, and one more,
// which every other event overwrites.

import { randomText } from "../../lib/text.ts";
import { type Intent, operatorActor } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { findTextField } from "../../model/resource.ts";
import { event as eventResource } from "../../resources/event.ts";
import { toCreateIntent, toInstant, toUpdateIntent } from "../../system/system-changes.ts";
import type { OperatorRecord } from "../../system/system-records.ts";

export type EventKind =
  | "sign-in"
  | "sign-out"
  | "link"
  | "refused-sign-in"
  | "refused-action"
  | "import"
  | "export"
  | "import-site"
  | "export-site"
  | "backup"
  | "restore"
  | "copy";

/** Undefined members are left empty, and texts that are too long are cut. */
export interface AuditEvent {
  readonly kind: EventKind;
  /** ID of the operator it's about. */
  readonly operator?: number | undefined;
  /** Of the operator, file or action. */
  readonly name?: string | undefined;
  /** A site's ID. */
  readonly site?: number | undefined;
  /** A resource's path. */
  readonly resource?: string | undefined;
  readonly detail?: string | undefined;
  /** The browser's network address. */
  readonly address?: string | undefined;
  /** From how many addresses; undefined for one. */
  readonly addresses?: number | undefined;
  /** How often it happened; undefined for once. */
  readonly count?: number | undefined;
  /** What an import stored, in records, and the rows it rejected. */
  readonly rows?:
    | { readonly created: number; readonly updated: number; readonly removed: number; readonly rejected: number }
    | undefined;
}

/**
 * Records an event. Resolves once it's on durable storage.
 * @param now milliseconds since 1970
 * @param actor who did it. An engine with an actor (`withActor`) replaces it
 * @throws ProblemError `unavailable`
 */
export async function recordEvent(
  engine: Pick<Engine, "commit">,
  event: AuditEvent,
  now: number,
  actor: string = operatorActor,
): Promise<void> {
  await recordEvents(engine, [{ event, actor }], now);
}

/** An event, and who did it in which run. */
export interface AttributedEvent {
  readonly event: AuditEvent;
  readonly actor: string;
  readonly run?: string | undefined;
}

/** Records several events in one transaction. */
export async function recordEvents(
  engine: Pick<Engine, "commit">,
  events: readonly AttributedEvent[],
  now: number,
): Promise<void> {
  await engine.commit(
    events.flatMap(({ event, ...by }) => toIntents(event, now).map((intent) => ({ ...intent, ...by }))),
  );
}

interface SignInEvent {
  readonly operator: Pick<OperatorRecord, "ID" | "Name">;
  readonly way: "link" | "single-sign-on" | "break-glass";
  /** Of the browser, if it's known. */
  readonly address?: string | undefined;
}

/** Call this once a session is stored, and before the browser gets it. Resolves once the sign-in is on durable storage. @throws ProblemError `unavailable` */
export function recordSignIn(
  engine: Pick<Engine, "commit">,
  { operator: { ID, Name }, way, address }: SignInEvent,
  now: number,
): Promise<void> {
  return recordEvent(
    engine,
    { kind: "sign-in", operator: ID, name: Name, detail: way, address },
    now,
    consoleActor(Name),
  );
}

export function consoleActor(name: string): `console:${string}` {
  return `console:${name}`;
}

/** The record with an operator's last sign-in. IDs of operators aren't used again. */
export function signInRecordId(operator: number): number {
  return operator + 1;
}

/** The record that all other events overwrite. */
const lastEventId = 1;

/** Only one of them makes an entry: if the record exists, the create is rejected, and if it didn't, the update changes nothing. */
function toIntents(event: AuditEvent, now: number): readonly Intent[] {
  const { kind, operator, name, site, resource, detail, address, addresses, count, rows } = event;
  const values = {
    Kind: kind,
    At: toInstant(now),
    Operator: toDigits(operator),
    Name: fit("Name", name),
    Site: toDigits(site),
    Resource: fit("Resource", resource),
    Detail: fit("Detail", detail),
    Address: fit("Address", address),
    Addresses: toDigits(addresses),
    Count: toDigits(count),
    Created: toDigits(rows?.created),
    Updated: toDigits(rows?.updated),
    Removed: toDigits(rows?.removed),
    Rejected: toDigits(rows?.rejected),
    UID: randomText(16),
  };
  const id = kind === "sign-in" && operator !== undefined ? signInRecordId(operator) : lastEventId;
  return [toCreateIntent(eventResource, values, now, id), toUpdateIntent(eventResource, id, values, now)];
}

function toDigits(count: number | undefined): string {
  return count === undefined ? "" : String(count);
}

/** File names and addresses come from elsewhere. What can't be stored becomes `\ufffd`. */
function fit(field: string, text = ""): string {
  const max = findTextField(eventResource, field)?.field.max ?? 0;
  const storable = text
    .slice(0, 2 * max)
    .toWellFormed()
    .replace(/[\p{Cc}\ufffe\uffff]/gu, "\ufffd");
  return [...storable].slice(0, max).join("");
}
