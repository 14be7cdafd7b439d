// Parses stored records. The decision on one intent needs the same record up to three times: for the match, for the merge and for the matches of later
// intents. Parsing takes longer than all else in these, so the record that was used last is kept.

interface ParsedRecord {
  readonly json: string;
  readonly record: object;
}

let last: ParsedRecord = { json: "{}", record: {} };

/** Returns the record with this JSON. Other callers may get the same object, so it must not be changed. */
export function parseRecord(json: string): object {
  if (json !== last.json) last = { json, record: JSON.parse(json) };
  return last.record;
}

/** Returns the JSON of a record that `parseRecord` will probably parse next. The record must not be changed after that. */
export function stringifyRecord(record: object): string {
  const json = JSON.stringify(record);
  last = { json, record };
  return json;
}
