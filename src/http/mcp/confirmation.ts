// The confirmation of a dry run is a digest of the key, the site, the arguments and the state of the records the dry run saw. A call that sends it stores
// exactly what the dry run showed. The server remembers nothing; it repeats the dry run and compares.
//
// The confirmation isn't a secret. It prevents agents' mistakes, but not anything that the key's owner could do without it.

import { createYielder } from "../../lib/yielding.ts";
import type { AuthorizedView } from "../request-context.ts";

/** In hexadecimal digits. */
const length = 32;

/**
 * Returns the digest of what an agent requested. Yields to the event loop in between.
 * @param requested the tool's name and its arguments: small JSON values, or undefined. The order of members doesn't matter
 */
export async function digestOf(requested: Iterable<unknown>): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  const yieldIfDue = createYielder();
  for (const value of requested) {
    await yieldIfDue();
    hash.update(`${JSON.stringify(sorted(value ?? null))}\n`);
  }
  return hash.digest("hex");
}

/** Sorts the members of all objects in a JSON value. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}

export interface Confirmed<Result> {
  readonly result: Result;
  /** The dry run's confirmation; undefined if `result` was stored. */
  readonly confirmation: string | undefined;
  /** Whether the agent sent the confirmation of another dry run. */
  readonly isChanged: boolean;
}

/** The result of work that a dry run can plan. */
export interface Planned {
  /** Returns the state of the records the work saw, as a string to compare. */
  readonly touched: () => string;
}

/** The work calls `confirm` before it stores a result. If that throws, the work stores nothing and throws the same error. */
export interface RunOptions<Result> {
  readonly isDry: boolean;
  readonly confirm: (planned: Result) => void;
}

interface ConfirmableWork<Result> {
  /** The digest of what the agent requested. */
  readonly requested: string;
  /** The confirmation the agent sent; undefined for a dry run. */
  readonly sent: string | undefined;
  run(how: RunOptions<Result>): Promise<Result>;
}

/** Runs the work as a dry run, or for real if the agent confirmed exactly this. @throws the errors of `run` */
export async function runConfirmed<Result extends Planned>(
  authorized: AuthorizedView,
  { requested, sent, run }: ConfirmableWork<Result>,
): Promise<Confirmed<Result>> {
  const toConfirmation = (result: Result) => confirmationOf(authorized, requested, result.touched());
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

function confirmationOf({ key, siteView }: AuthorizedView, requested: string, touched: string): string {
  const whose = JSON.stringify([siteView.siteId, siteView.epoch, key.id, requested]);
  return new Bun.CryptoHasher("sha256").update(`${whose}\n${touched}`).digest("hex").slice(0, length);
}

const afterChange =
  "`confirm` doesn't match: the records have changed since that dry run, or the arguments differ. Check this new result. ";

/** What a dry run would do: verbs and how often, such as `create` and 2. */
export type Effect = Readonly<Record<string, number>>;

/**
 * Adds the confirmation to a dry run's result.
 * @param json the result, an object with at least one member
 * @param effect a summary, for agents that don't count the results
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
  if (steps.length === 0) return "Nothing would change, so there's nothing to confirm.";
  const list = steps.map(([verb, count]) => `${verb} ${count}`).join(", ");
  return `Nothing is stored yet. To store exactly this (${list}), call again with the same arguments and this \`Confirm\` as \`confirm\`.`;
}
