// Parses stored records. Deciding one intent needs the same record up to three times: for the match, the merge, and the matches of later intents.
// Parsing is the slowest part of these, so we keep the last record.

interface ParsedRecord {
  readonly json: string;
  readonly record: object;
}

let last: ParsedRecord = { json: "{}", record: {} };

/** The result is shared, so don't change it. */
export function parseRecord(json: string): object {
  if (json !== last.json) last = { json, record: JSON.parse(json) };
  return last.record;
}

/** Like `JSON.stringify`, for a record that's likely to be parsed next. Don't change the record afterwards. */
export function stringifyRecord(record: object): string {
  const json = JSON.stringify(record);
  last = { json, record };
  return json;
}
