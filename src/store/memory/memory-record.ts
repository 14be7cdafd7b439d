/** A record in memory. */
export interface MemoryRecord {
  readonly id: number;
  /** The revision of its last change. */
  readonly revision: number;
  /** The record as JSON text, with the fields that this program version declares (`toDeclaredJson`). */
  readonly json: string;
}
