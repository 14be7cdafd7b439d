/** Bytes from `start` up to `end` of `source`. They never change. To name them takes less time than to make a view of them. */
export interface ByteRange {
  readonly source: Buffer;
  readonly start: number;
  readonly end: number;
}
