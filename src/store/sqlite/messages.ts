// What the threads say to each other about a batch, as one string: a first line of JSON and then a line per JSON text,
// which has no line breaks. To clone the objects instead costs twice the time.

import type { Operation } from "../../model/change.ts";
import type { Idempotency, Intent, Outcome, Refused } from "../../model/write.ts";

type IntentHead = readonly [
  site: number,
  resource: string,
  operation: Operation,
  id: number | null,
  ifVersion: readonly string[] | null,
  ifHead: string | null,
  actor: string,
  at: number,
  idempotency: Idempotency | null,
];

type OutcomeHead =
  | readonly [kind: "done", operation: Operation, id: number, version: string, revision: number]
  | readonly [kind: "unchanged" | "replayed", operation: Operation, id: number, version: string]
  | readonly [kind: "refused", why: Refused["why"]];

export function encodeIntents(intents: readonly Intent[]): string {
  let texts = "";
  const heads = intents.map((intent): IntentHead => {
    const {
      site,
      resource,
      operation,
      id = null,
      ifVersion = null,
      ifHead = null,
      actor,
      at,
      idempotency = null,
    } = intent;
    texts += `\n${intent.text}`;
    return [site, resource, operation, id, ifVersion, ifHead, actor, at, idempotency];
  });
  return JSON.stringify(heads) + texts;
}

export function decodeIntents(message: string): Intent[] {
  const [first = "", ...texts] = message.split("\n");
  return (JSON.parse(first) as IntentHead[]).map((head, index) => {
    const [site, resource, operation, id, ifVersion, ifHead, actor, at, idempotency] = head;
    return {
      site,
      resource,
      operation,
      id: id ?? undefined,
      text: texts[index] as string,
      ifVersion: ifVersion ?? undefined,
      ifHead: ifHead ?? undefined,
      actor,
      at,
      idempotency: idempotency ?? undefined,
    };
  });
}

export function encodeOutcomes(outcomes: readonly Outcome[]): string {
  let bodies = "";
  const heads = outcomes.map((outcome): OutcomeHead => {
    bodies += outcome.kind === "refused" ? "\n" : `\n${outcome.body}`;
    if (outcome.kind === "refused") return ["refused", outcome.why];
    const { kind, operation, id, version } = outcome;
    return kind === "done" ? [kind, operation, id, version, outcome.change.revision] : [kind, operation, id, version];
  });
  return JSON.stringify(heads) + bodies;
}

/** The outcomes of `intents`, or of the first of them. */
export function decodeOutcomes(message: string, intents: readonly Intent[]): Outcome[] {
  const [first = "", ...bodies] = message.split("\n");
  return (JSON.parse(first) as OutcomeHead[]).map((head, index) => {
    if (head[0] === "refused") return { kind: "refused", why: head[1] };
    const [kind, operation, id, version] = head;
    const body = bodies[index] as string;
    if (kind !== "done") return { kind, operation, id, version, body };
    const { resource, actor, at } = intents[index] as Intent;
    return {
      kind,
      operation,
      id,
      version,
      body,
      change: { revision: head[4], at, actor, resource, id, operation, body },
    };
  });
}
