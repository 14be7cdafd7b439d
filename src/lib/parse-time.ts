/**
 * Milliseconds since 1970 of a time such as `2026-01-31` or `2026-01-31T12:00Z`; NaN for any other text. Without this, the runtime takes a day that
 * its month does not have for one of the next month: 2026-02-30 for 2026-03-02.
 */
export function parseTime(text: string): number {
  const at = Date.parse(text);
  const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
  if (Number.isNaN(at) || day === undefined) return at;
  return new Date(day).toISOString().startsWith(day) ? at : Number.NaN;
}
