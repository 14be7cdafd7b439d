import type { ByteRange } from "../../lib/byte-range.ts";
import { documentOf, type Encoding } from "../../model/encoding.ts";
import type { Resource } from "../../model/resource.ts";
import { BlockRecord } from "./block.ts";
import type { MemoryRecord } from "./record.ts";

/** A record as a document in `encoding`: as bytes if it is in a block, otherwise as text. */
export function toDocument(
  record: MemoryRecord,
  resource: Resource,
  encoding: Encoding,
): string | readonly (Uint8Array | ByteRange)[] {
  if (!(record instanceof BlockRecord)) return documentOf(encoding, resource, record.json);
  const item = record.block.encoded(encoding).range(record.index);
  return encoding.documentStart === "" ? [item] : [startOf(encoding), item];
}

/** `documentStart` as bytes, by encoding. */
const starts = new WeakMap<Encoding, Uint8Array>();

function startOf(encoding: Encoding): Uint8Array {
  let start = starts.get(encoding);
  if (!start) {
    start = Buffer.from(encoding.documentStart);
    starts.set(encoding, start);
  }
  return start;
}
