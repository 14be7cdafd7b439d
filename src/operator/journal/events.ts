// Records what happens without changing a record: sign-ins, refusals, imports, exports, backups. Each of these events is an entry in the system site's
// journal, so it's backed up, restored, pruned and followed like any other change. With the changes to system records, they're the audit log.
//
// Only the journal grows. There's one record for each operator's last sign-in, so that it's known even after the journal was pruned, and one more,
// which every other event overwrites.

import { randomText } from "../../lib/text.ts";
import { type Intent, type JournalEntry, operatorActor } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { event as eventResource, maxEventChars } from "../../resources/event.ts";
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

/** The fields of an event (resources/event.ts), in lower case. Undefined ones are left empty, and texts that are too long are cut. */
export interface AuditEvent {
  readonly kind: EventKind;
  readonly operator?: number | undefined;
  readonly name?: string | undefined;
  readonly site?: number | undefined;
  readonly resource?: string | undefined;
  readonly detail?: string | undefined;
  readonly rows?: string | undefined;
  readonly address?: string | undefined;
  readonly count?: number | undefined;
}

/** Who did it in which run. An engine with an actor (`withActor`) replaces both. */
interface Attribution {
  readonly actor: string;
  readonly run?: string | undefined;
}

interface SignInEvent {
  readonly operator: Pick<OperatorRecord, "ID" | "Name">;
  readonly way: "link" | "single-sign-on" | "break-glass";
  /** Of the browser. */
  readonly address: string;
}

/**
 * Records an event. Resolves once it's on durable storage.
 * @param now milliseconds since 1970
 * @throws ProblemError `unavailable`
 */
export async function recordEvent(
  engine: Pick<Engine, "commit">,
  event: AuditEvent,
  now: number,
  by: Attribution = { actor: operatorActor },
): Promise<void> {
  await engine.commit(toIntents(event, now).map((intent) => ({ ...intent, ...by })));
}

/** Call this once a session is stored, and before the browser gets it. @throws ProblemError `unavailable` */
export function recordSignIn(
  engine: Pick<Engine, "commit">,
  { operator: { ID, Name }, way, address }: SignInEvent,
  now: number,
): Promise<void> {
  const event = { kind: "sign-in", operator: ID, name: Name, detail: way, address } as const;
  return recordEvent(engine, event, now, { actor: consoleActor(Name) });
}

export function consoleActor(name: string): `console:${string}` {
  return `console:${name}`;
}

/** Describes the outcome of an import, by row. */
export function describeRows(
  counts: { readonly created: number; readonly updated: number; readonly rejected: number },
  removed = 0,
): string {
  const { created, updated, rejected } = counts;
  return `${created} created, ${updated} updated, ${removed} removed, ${rejected} rejected`;
}

/** The record with an operator's last sign-in. IDs of operators are never reused. */
export function signInRecordId(operator: number): number {
  return operator + 1;
}

/** An event has no state before: it overwrites an unrelated one, only to save space. Leaves other entries unchanged. */
export function toShownEvent(entry: JournalEntry): JournalEntry {
  if (entry.resource !== eventResource.name) return entry;
  const { At: _, UID: __, ...shown } = JSON.parse(entry.body);
  return { ...entry, operation: "create", before: null, body: JSON.stringify(shown) };
}

/** The record that all other events overwrite. */
const lastEventId = 1;

/** Only one of them makes an entry: if the record exists, the create is rejected, and if it didn't, the update changes nothing. */
function toIntents(event: AuditEvent, now: number): readonly Intent[] {
  const { kind, operator } = event;
  const all: Readonly<Record<string, unknown>> = { ...event, at: toInstant(now), uid: randomText(16) };
  const names = eventResource.textFields.map(({ path }) => path);
  const values = Object.fromEntries(names.map((name) => [name, fit(String(all[name.toLowerCase()] ?? ""))]));
  const id = kind === "sign-in" && operator !== undefined ? signInRecordId(operator) : lastEventId;
  return [toCreateIntent(eventResource, values, now, id), toUpdateIntent(eventResource, id, values, now)];
}

/** File names and addresses come from elsewhere. What can't be stored becomes `\ufffd`. */
function fit(text: string): string {
  const storable = text
    .slice(0, 2 * maxEventChars)
    .toWellFormed()
    .replace(/[\p{Cc}\ufffe\uffff]/gu, "\ufffd");
  return [...storable].slice(0, maxEventChars).join("");
}
