// The ID of a run that was a client's single transaction: a batch request or an undo. It tells which revisions the changes can have, which saves
// searching the journal. Runs of commands and of the console have 8 random characters instead.

/** 8 characters and two whole numbers, of at most 15 digits each. */
const form = /^[0-9A-Za-z]{8}-([1-9][0-9]{0,14})-([1-9][0-9]{0,14})$/;

/**
 * Returns a run ID such as `k3J9aZ0q-18-10000`.
 * @param random 8 random letters and digits
 * @param first revision of the run's first change
 * @param size maximum number of changes; their revisions are between `first` and `first + size - 1`
 */
export function toRunId(random: string, first: number, size: number): string {
  return `${random}-${first}-${size}`;
}

/** Returns the first and last revision that the run's changes can have; undefined if `toRunId` didn't make this ID. */
export function parseRun(run: string): { readonly first: number; readonly last: number } | undefined {
  const [, first, size] = form.exec(run) ?? [];
  if (first === undefined || size === undefined) return undefined;
  return { first: Number(first), last: Number(first) + Number(size) - 1 };
}
