// Versions of releases: three numbers, and for a release candidate `-rc.` with a fourth one.

const pattern = /^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})(?:-rc\.([1-9][0-9]{0,5}))?$/;

/** Whether `text` is a version that can be released, such as `1.0.0` or `1.1.0-rc.2`. */
export function isVersion(text: string): boolean {
  return pattern.test(text);
}

/** Negative if `a` is before `b`, 0 if they are equal (Semantic Versioning 2.0.0, section 11). A text that is no version is before all others. */
export function compareVersions(a: string, b: string): number {
  const [numbers, others] = [numbersOf(a), numbersOf(b)];
  for (const [i, number] of numbers.entries()) {
    const difference = number - (others[i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A release comes after its candidates. */
function numbersOf(version: string): number[] {
  const [, major = -1, minor = -1, patch = -1, candidate = Number.MAX_SAFE_INTEGER] = pattern.exec(version) ?? [];
  return [major, minor, patch, candidate].map(Number);
}
