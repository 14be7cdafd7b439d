export interface MemoryRecord {
  readonly id: number;
  /** Revision of its last change. */
  readonly revision: number;
  /** JSON with the fields that this version of the program declares (`toDeclaredJson`). */
  readonly json: string;
}
