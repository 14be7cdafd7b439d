/** A record in memory. */
export interface Kept {
  readonly id: number;
  readonly revision: number;
  /** As it is declared. */
  readonly json: string;
}
