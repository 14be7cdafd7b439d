// The confirmation of a dry run: a digest of the key, the site, the arguments, and the state of the records that the dry run has found. A call with it
// stores exactly the result that the dry run has shown. The server remembers nothing: it makes the dry run again, and compares.
//
// The confirmation is not a secret. It prevents mistakes of agents, and nothing that the owner of the key could not do without it.

import { createYielder } from "../../lib/yielding.ts";
import type { AuthorizedView } from "../request-context.ts";

/** Hexadecimal digits of a confirmation. */
const length = 32;

/**
 * Returns the digest of what an agent has asked for. Yields to the event loop in between.
 * @param asked the name of the tool, and its arguments: JSON values of few members, or undefined. The order of members does not count
 */
export async function digestOf(asked: Iterable<unknown>): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  const yieldIfDue = createYielder();
  for (const value of asked) {
    await yieldIfDue();
    hash.update(`${JSON.stringify(sorted(value ?? null))}\n`);
  }
  return hash.digest("hex");
}

/** Returns a JSON value with the members of its objects in alphabetical order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}

/** The result of a dry run, or a stored result. */
export interface Confirmed<Result> {
  readonly result: Result;
  /** The confirmation of the dry run; undefined if `result` was stored. */
  readonly confirmation: string | undefined;
  /** Whether another dry run was to be confirmed. */
  readonly isChanged: boolean;
}

/** The result of work that a dry run can plan. */
export interface Planned {
  /** Returns the state of the records that the work has found, as a text to compare. */
  readonly touched: () => string;
}

/** How the work is done. Before it stores a result, it calls `confirm`; if that throws, it stores nothing, and throws the error. */
export interface RunOptions<Result> {
  readonly isDry: boolean;
  readonly confirm: (planned: Result) => void;
}

interface Confirming<Result> {
  /** The digest of what the agent has asked for. */
  readonly asked: string;
  /** The confirmation that the agent has sent; undefined for a dry run. */
  readonly sent: string | undefined;
  /** Does the work. */
  run(how: RunOptions<Result>): Promise<Result>;
}

/** Does work as a dry run, or if its dry run was confirmed. @throws the errors of `run` */
export async function runConfirmed<Result extends Planned>(
  authorized: AuthorizedView,
  { asked, sent, run }: Confirming<Result>,
): Promise<Confirmed<Result>> {
  const toConfirmation = (result: Result) => confirmationOf(authorized, asked, result.touched());
  let other: Result | undefined;
  const confirm = (planned: Result) => {
    if (toConfirmation(planned) === sent) return;
    other = planned;
    throw new Error("another dry run was confirmed");
  };
  try {
    const result = await run({ isDry: sent === undefined, confirm });
    const confirmation = sent === undefined ? toConfirmation(result) : undefined;
    return { result, confirmation, isChanged: false };
  } catch (error) {
    if (other === undefined) throw error;
    return { result: other, confirmation: toConfirmation(other), isChanged: true };
  }
}

function confirmationOf({ key, siteView }: AuthorizedView, asked: string, touched: string): string {
  const whose = JSON.stringify([siteView.siteId, siteView.epoch, key.id, asked]);
  return new Bun.CryptoHasher("sha256").update(`${whose}\n${touched}`).digest("hex").slice(0, length);
}

const afterChange =
  "`confirm` belongs to another dry run: the records have changed since, or the arguments differ. Look at this result. ";

/** The effect of a dry run: verbs, and how often each would be done, such as `create` and 2. */
export type Effect = Readonly<Record<string, number>>;

/**
 * Adds its confirmation to a dry run.
 * @param json a JSON object with at least one member, the result of the dry run
 * @param effect what it would do, in short, for an agent that does not count the results
 */
export function withConfirmation(
  json: string,
  { confirmation, isChanged }: Confirmed<unknown>,
  effect: Effect,
): string {
  if (confirmation === undefined) return json;
  const Advice = (isChanged ? afterChange : "") + adviceOn(effect);
  return `${JSON.stringify({ Confirm: confirmation, Advice }).slice(0, -1)},${json.slice(1)}`;
}

function adviceOn(effect: Effect): string {
  const steps = Object.entries(effect).filter(([, count]) => count > 0);
  if (steps.length === 0) return "Nothing would change, so there is nothing to confirm.";
  const list = steps.map(([verb, count]) => `${verb} ${count}`).join(", ");
  return `Nothing is stored yet. To store exactly this (${list}), call again with the same arguments and this \`Confirm\` as \`confirm\`.`;
}
