// The ID of a run whose changes are one transaction of a client: a batch request or an undo. It says which revisions the changes may have, so that
// nobody has to search the journal for them. The runs of commands and of the console have 8 random characters, and say nothing of the kind.

/** The longest ID that is parsed: 8 characters, and two whole numbers. */
const form = /^[0-9A-Za-z]{8}-([1-9][0-9]{0,14})-([1-9][0-9]{0,14})$/;

/**
 * Returns the ID of a run, such as `k3J9aZ0q-18-10000`.
 * @param random 8 random letters and digits
 * @param first the revision of the first change of the run
 * @param size maximum number of its changes: all of them have the revisions from `first` to `first + size - 1`
 */
export function toRunId(random: string, first: number, size: number): string {
  return `${random}-${first}-${size}`;
}

/** Returns the first and the last revision that a change of the run may have; undefined if `run` does not have the form of `toRunId`. */
export function parseRun(run: string): { readonly first: number; readonly last: number } | undefined {
  const [, first, size] = form.exec(run) ?? [];
  if (first === undefined || size === undefined) return undefined;
  return { first: Number(first), last: Number(first) + Number(size) - 1 };
}
