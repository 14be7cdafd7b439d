/** A record that is kept in memory. */
export interface Kept {
  readonly id: number;
  readonly revision: number;
  /** As it is stored. */
  readonly json: string;
  /** A document of it in other encodings, made when first asked for. */
  encoded?: Record<string, string>;
  /** The texts of fields that a list was sorted or filtered by. */
  texts?: Record<string, string>;
}
