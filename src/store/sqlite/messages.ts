// The messages between the threads about a batch. Each is one string: a first line of JSON and then a line per JSON text,
// which has no line breaks. Cloning the objects would take twice the time.

import { withOwnMemory } from "../../lib/bytes.ts";
import type { Intent, Outcome, Refused, WriteResult } from "../../model/change.ts";
import { withId } from "../writes/decide-intent.ts";

/** An outcome without its body, which is empty for a new record. The rest of a change is in the intent. */
type OutcomeMeta = Refused | (Omit<WriteResult, "body"> & { kind: "done" | "unchanged" | "replayed" });

export function encodeIntents(intents: readonly Intent[]): string {
  let texts = "";
  // JSON leaves out what is undefined. Copying all other members takes longer than overwriting this one.
  const metas = intents.map((intent) => {
    texts += `\n${intent.text}`;
    return { ...intent, text: undefined };
  });
  return JSON.stringify(metas) + texts;
}

export function decodeIntents(message: string): Intent[] {
  const [metas = "", ...texts] = message.split("\n");
  return (JSON.parse(metas) as Intent[]).map((meta, index) => ({ ...meta, text: texts[index] as string }));
}

/** @param intents those of the outcomes, of which the other thread has the texts */
export function encodeOutcomes(outcomes: readonly Outcome[], intents: readonly Intent[]): string {
  let bodies = "";
  const metas = outcomes.map((outcome, index): OutcomeMeta => {
    if (outcome.kind === "refused") {
      bodies += "\n";
      return outcome;
    }
    const { kind, operation, id, epoch, revision } = outcome;
    bodies += isNew(outcome, intents[index] as Intent) ? "\n" : `\n${outcome.body}`;
    return { kind, operation, id, epoch, revision };
  });
  return JSON.stringify(metas) + bodies;
}

/** The outcomes of `intents`, or of some from the first on. */
export function decodeOutcomes(message: string, intents: readonly Intent[]): Outcome[] {
  const [metas = "", ...bodies] = message.split("\n");
  return (JSON.parse(metas) as OutcomeMeta[]).map((meta, index): Outcome => {
    if (meta.kind === "refused") return meta;
    const { kind, operation, id, epoch, revision } = meta;
    const intent = intents[index] as Intent;
    const body = isNew(meta, intent) ? withId(id, intent.text) : withOwnMemory(bodies[index] as string);
    if (kind !== "done") return { kind, operation, id, epoch, revision, body };
    return {
      kind,
      operation,
      id,
      epoch,
      revision,
      body,
      change: { revision, resource: intent.resource, id, operation, body },
    };
  });
}

/** Whether it created a record, whose body is then the text of the intent and the ID. */
function isNew({ kind }: { readonly kind: string }, { operation }: Intent): boolean {
  return kind === "done" && operation === "create";
}
