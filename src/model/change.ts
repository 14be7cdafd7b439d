/** What a change did to its record. `restore` stores it again as an earlier entry has it. */
export type Operation = "create" | "update" | "delete" | "restore";

/** An entry of a site's journal: one numbered change to one record. */
export interface Change {
  /** Counts from 1 per site, without a gap. */
  readonly revision: number;
  /** Milliseconds since 1970 (UTC). */
  readonly at: number;
  /** Who made the change: the prefix of an API key, or `operator`. */
  readonly actor: string;
  /** The resource's name, such as `order-status`. */
  readonly resource: string;
  readonly id: number;
  readonly operation: Operation;
  /** The record after the change as JSON text; for a delete, the record that was deleted. */
  readonly body: string;
}

/** The actor of changes made on the command line. */
export const operatorActor = "operator";
