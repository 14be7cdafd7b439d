// What the threads say to each other about a batch, as one string: a first line of JSON and then a line per JSON text,
// which has no line breaks. To clone the objects instead costs twice the time.

import type { Aftermath, Intent, Outcome, Refused } from "../../model/write.ts";

type IntentHead = Omit<Intent, "text">;

/** An outcome without its body; what else a change has, the intent says. */
type OutcomeHead = Refused | (Omit<Aftermath, "body"> & { kind: "done" | "unchanged" | "replayed"; revision?: number });

export function encodeIntents(intents: readonly Intent[]): string {
  let texts = "";
  const heads = intents.map(({ text, ...head }): IntentHead => {
    texts += `\n${text}`;
    return head;
  });
  return JSON.stringify(heads) + texts;
}

export function decodeIntents(message: string): Intent[] {
  const [heads = "", ...texts] = message.split("\n");
  return (JSON.parse(heads) as IntentHead[]).map((head, index) => ({ ...head, text: texts[index] as string }));
}

export function encodeOutcomes(outcomes: readonly Outcome[]): string {
  let bodies = "";
  const heads = outcomes.map((outcome): OutcomeHead => {
    bodies += outcome.kind === "refused" ? "\n" : `\n${outcome.body}`;
    if (outcome.kind === "refused") return outcome;
    const { kind, operation, id, version } = outcome;
    return kind === "done"
      ? { kind, operation, id, version, revision: outcome.change.revision }
      : { kind, operation, id, version };
  });
  return JSON.stringify(heads) + bodies;
}

/** The outcomes of `intents`, or of the first of them. */
export function decodeOutcomes(message: string, intents: readonly Intent[]): Outcome[] {
  const [heads = "", ...bodies] = message.split("\n");
  return (JSON.parse(heads) as OutcomeHead[]).map((head, index): Outcome => {
    if (head.kind === "refused") return head;
    const { kind, operation, id, version, revision = 0 } = head;
    const body = bodies[index] as string;
    if (kind !== "done") return { kind, operation, id, version, body };
    const { resource, actor, at } = intents[index] as Intent;
    return { kind, operation, id, version, body, change: { revision, at, actor, resource, id, operation, body } };
  });
}
