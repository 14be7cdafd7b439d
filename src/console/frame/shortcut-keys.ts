// The keys of shortcuts to the lists of records.

/** Gives each path a key: its first letter that is not used yet; undefined if all its letters are. @param used the keys of other pages */
export function shortcutKeys(paths: readonly string[], used: readonly string[]): (string | undefined)[] {
  const taken = new Set(used);
  return paths.map((path) => {
    const key = [...path].find((letter) => !taken.has(letter));
    if (key) taken.add(key);
    return key;
  });
}
