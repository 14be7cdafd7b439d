/** A record in memory. */
export interface MemoryRecord {
  readonly id: number;
  /** The site's revision at its last change. */
  readonly revision: number;
  /** The record as it is declared, as JSON text. */
  readonly json: string;
}
