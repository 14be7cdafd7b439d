/** What a change did to its record. `restore` puts it back as an earlier entry had it. */
export type Operation = "create" | "update" | "delete" | "restore";

/** An entry of a site's journal: one numbered change to one record. */
export interface Change {
  /** Counts from 1 per site, without a gap. */
  readonly revision: number;
  /** Milliseconds since 1970 (UTC). */
  readonly at: number;
  /** Who did it: the displayable prefix of an API key, or `operator`. */
  readonly actor: string;
  /** The resource's name, such as `order-status`. */
  readonly resource: string;
  readonly id: number;
  readonly operation: Operation;
  /** The record after the change as JSON text; for a delete, the record that was deleted. */
  readonly body: string;
}

/** The actor of everything done on the command line. */
export const operatorActor = "operator";
