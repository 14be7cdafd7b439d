// Reads and changes the sections of CHANGELOG.md (https://keepachangelog.com/en/1.1.0/).

const unreleased = "## [Unreleased]\n";

/**
 * Gives the section with unreleased changes the heading for `version`, and adds a new, empty one above it.
 * @param date such as 2026-01-31
 * @throws Error if the section is missing or empty, or if the version already has a section
 */
export function closeChangelog(text: string, version: string, date: string): string {
  if (sectionOf(text, version) !== undefined) throw new Error(`CHANGELOG.md already has a section for ${version}`);
  const [before, after] = splitAt(text, unreleased);
  if (after === undefined) throw new Error("CHANGELOG.md has no section `## [Unreleased]`");
  const content = after.split(/^## /m)[0] ?? "";
  if (!/^[-*] /m.test(content))
    throw new Error("the section `## [Unreleased]` in CHANGELOG.md is empty; describe the changes there");
  return `${before}${unreleased}\n## [${version}] - ${date}\n${after}`;
}

/** Returns a version's section without its heading, if there is one. */
export function sectionOf(text: string, version: string): string | undefined {
  const sections = text.split(/^## /m).slice(1);
  const found = sections.find((section) => section.startsWith(`[${version}]`));
  return found?.slice(found.indexOf("\n") + 1).trim();
}

function splitAt(text: string, line: string): [string, string | undefined] {
  const at = text.startsWith(line) ? 0 : text.indexOf(`\n${line}`) + 1;
  if (at === 0 && !text.startsWith(line)) return [text, undefined];
  return [text.slice(0, at), text.slice(at + line.length)];
}
