import type { Head } from "./engine.ts";

/** What a change did to its record. */
export type Operation = "create" | "update" | "delete";

/** A change as the site's records are made of it. */
export interface RecordChange {
  /** Counts from 1 per site, without a gap. */
  readonly revision: number;
  /** The resource's name, such as `order-status`. */
  readonly resource: string;
  readonly id: number;
  readonly operation: Operation;
  /** The record after the change as JSON text; for a delete, the record that was deleted. */
  readonly body: string;
}

/** An entry of a site's journal: one numbered change to one record. */
export interface Change extends RecordChange {
  /** Milliseconds since 1970 (UTC); never less than in the entry before. Entries of older versions of the program have the time of the clock. */
  readonly at: number;
  /** Who made the change: the prefix of an API key, or `operator:` and a name. */
  readonly actor: string;
}

/** A change with all that the journal has of it. */
export interface JournalEntry extends Change {
  /** The ID that all changes of one command or one action in the console share; null for a request. */
  readonly run: string | null;
  /**
   * The record before an update as JSON text. Null for a create; for a delete, `body` has it. Null as well in entries that an older
   * version of the program wrote.
   */
  readonly before: string | null;
}

/** Entries of a site's journal, read in one transaction. */
export interface JournalPage {
  /** The end of the journal: its last revision, and the epoch of the history. */
  readonly head: Head;
  /** The revision before the first entry that the journal still has; 0 if none was pruned. */
  readonly floor: number;
  readonly entries: readonly JournalEntry[];
}

/** The actor of changes for which no operator is named. */
export const operatorActor = "operator";
