// The confirmation of a dry run. Its digest names the key, the site, what was asked for, and the state of the records that the dry run has found. A call
// with the digest stores only what the dry run has shown. The server remembers nothing: it makes the dry run again, and compares.
//
// The digest is not a secret. It prevents mistakes of agents, and nothing that the owner of the key could not do without it.

import { createYielder } from "../../lib/yielding.ts";
import type { AuthorizedView } from "../request-context.ts";

/** A dry run that differs from the one that was confirmed. */
export class ChangedDryRunError extends Error {
  /** The JSON object of the new dry run. */
  readonly json: string;

  constructor(json: string) {
    super("the records have changed since the dry run");
    this.name = "ChangedDryRunError";
    this.json = json;
  }
}

/** Hexadecimal digits of a confirmation. */
const length = 32;

/**
 * Returns the digest of what an agent has asked for. Yields to the event loop in between.
 * @param asked the name of the tool, and its arguments. The order of the members of objects does not count
 */
export async function digestOf(asked: readonly unknown[]): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  const yieldIfDue = createYielder();
  for (const value of asked) {
    await yieldIfDue();
    hash.update(`${JSON.stringify(sorted(value) ?? null)}\n`);
  }
  return hash.digest("hex");
}

/**
 * Returns what confirms a dry run.
 * @param asked the digest of what the agent has asked for
 * @param touched the state of the records that the dry run has found, as a text
 */
export function confirmationOf({ key, siteView }: AuthorizedView, asked: string, touched: string): string {
  const whose = JSON.stringify([siteView.siteId, siteView.epoch, key.id, asked]);
  return new Bun.CryptoHasher("sha256").update(`${whose}\n${touched}`).digest("hex").slice(0, length);
}

/** Returns a JSON value with the members of its objects in alphabetical order. @param value not nested deeply */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}

const note = "Nothing is stored yet. To store exactly this, call again with the same arguments and this `Confirm` as `confirm`.";
const changedNote = `The records have changed since the dry run that you confirm, or the arguments differ. Look at the new result. ${note}`;

/**
 * Returns the JSON object of a dry run with what confirms it.
 * @param result the JSON object of the result, with at least one member
 * @param isChanged whether it differs from the dry run that was confirmed
 */
export function withConfirmation(result: string, confirmation: string, isChanged: boolean): string {
  const members = JSON.stringify({ Confirm: confirmation, Note: isChanged ? changedNote : note });
  return `${members.slice(0, -1)},${result.slice(1)}`;
}
