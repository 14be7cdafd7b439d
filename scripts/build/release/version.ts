// Versions of releases: three numbers; a release candidate also has `-rc.` with a fourth number.

const pattern = /^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})(?:-rc\.([1-9][0-9]{0,5}))?$/;

/** Whether `text` is a version that can be released, such as `1.0.0` or `1.1.0-rc.2`. */
export function isVersion(text: string): boolean {
  return pattern.test(text);
}

/**
 * Compares two versions (Semantic Versioning 2.0.0, section 11). Returns a negative number if `a` is before `b`, and 0 if they are equal. A text that
 * is not a version is before all versions.
 */
export function compareVersions(a: string, b: string): number {
  const [numbers, others] = [numbersOf(a), numbersOf(b)];
  for (const [i, number] of numbers.entries()) {
    const difference = number - (others[i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Returns the numbers of a version for comparison. A release has the largest fourth number, because it comes after its candidates. */
function numbersOf(version: string): number[] {
  const [, major = -1, minor = -1, patch = -1, candidate = Number.MAX_SAFE_INTEGER] = pattern.exec(version) ?? [];
  return [major, minor, patch, candidate].map(Number);
}
