/**
 * The one of `names` that is most similar to `name`: at most a third of its letters differ, regardless of case. Undefined
 * when none is similar, or `name` has more than 200 characters.
 */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  if (name.length > 200) return undefined;
  let best: string | undefined;
  let minDistance = Math.max(1, Math.floor(name.length / 3)) + 0.5;
  for (const candidate of names) {
    if (Math.abs(name.length - candidate.length) >= minDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < minDistance) [best, minDistance] = [candidate, distance];
  }
  return best;
}

/**
 * The one of the dotted `paths` that is most similar to `path`: `Address.Town` for `Town`, `town` or `address_town`. Paths
 * in the same group come first. Undefined when none is similar, or `path` has more than 200 characters.
 */
export function nearestPath(path: string, paths: readonly string[]): string | undefined {
  if (path.length > 200) return undefined;
  const siblings = paths.filter((one) => groupOf(one) === groupOf(path));
  const whole = lettersOf(path);
  const last = lettersOf(lastOf(path));
  return (
    siblings.find((one) => lettersOf(one) === whole) ??
    paths.find((one) => lettersOf(one) === whole || lettersOf(lastOf(one)) === last) ??
    nearestBy(lastOf, path, siblings) ??
    nearestBy(lastOf, path, paths)
  );
}

/** The letters and digits of a name in lower case, which are the same in every naming convention. */
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

/** The name without its group and namespace prefix. */
function lastOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("."), path.lastIndexOf(":")) + 1);
}

/** How many letters to insert, delete, replace or swap with their neighbour turn `a` into `b` (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  const at = (row: readonly number[], index: number) => row[index] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let distance = Math.min(replaced, at(last, j) + 1, at(row, j - 1) + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) distance = Math.min(distance, at(beforeLast, j - 2) + 1);
      row.push(distance);
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, b.length);
}
