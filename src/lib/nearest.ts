/**
 * The one of `names` that `name` was probably meant to be: at most a third of its letters differ, and case counts for
 * little. Undefined when none is near.
 */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  if (name.length > 200) return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 0.5;
  for (const candidate of names) {
    if (Math.abs(name.length - candidate.length) >= least) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/**
 * The one of the dotted paths `paths` that `path` was probably meant to be, also one of another group: `Address.Town` for
 * `Town`, `town` or `address_town`. One beside it comes first. Undefined when none is near.
 */
export function nearestPath(path: string, paths: readonly string[]): string | undefined {
  if (path.length > 200) return undefined;
  const beside = paths.filter((one) => groupOf(one) === groupOf(path));
  const whole = lettersOf(path);
  const last = lettersOf(lastOf(path));
  return (
    beside.find((one) => lettersOf(one) === whole) ??
    paths.find((one) => lettersOf(one) === whole || lettersOf(lastOf(one)) === last) ??
    nearestBy(lastOf, path, beside) ??
    nearestBy(lastOf, path, paths)
  );
}

/** The letters and digits of a name, in lower case: what is left of it in every style of writing names. */
export function lettersOf(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
}

function nearestBy(part: (path: string) => string, path: string, paths: readonly string[]): string | undefined {
  const meant = nearest(part(path), paths.map(part));
  return paths.find((one) => part(one) === meant);
}

function groupOf(path: string): string {
  return path.slice(0, path.lastIndexOf(".") + 1);
}

/** Without its group, nor a namespace prefix. */
function lastOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("."), path.lastIndexOf(":")) + 1);
}

/** The number of letters to insert, drop, replace or swap with their neighbour (optimal string alignment), row by row. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  const at = (row: readonly number[], index: number) => row[index] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, at(last, j) + 1, at(row, j - 1) + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) least = Math.min(least, at(beforeLast, j - 2) + 1);
      row.push(least);
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, b.length);
}
