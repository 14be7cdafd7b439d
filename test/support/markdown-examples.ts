// Reads a Markdown page's examples: code to run, and its expected output.

export interface Example {
  readonly language: "sh" | "js" | "python";
  readonly code: string;
  readonly expected: { readonly language: string; readonly text: string } | undefined;
}

const runnable = ["sh", "js", "python"];

interface Block {
  readonly language: string;
  readonly text: string;
  /** Whether there's only white space between it and the previous block. */
  readonly isNeighbour: boolean;
}

/**
 * Returns the examples in page order. A block to run is followed by its output. Where neighbouring blocks do the same in several languages, those in
 * `language` are returned.
 */
export function examplesIn(markdown: string, language: Example["language"] = "sh"): Example[] {
  return groupsIn(markdown).map(({ codes, expected }) => {
    const [first] = codes;
    const chosen = codes.find((block) => block.language === language) ?? first;
    return { language: chosen?.language as Example["language"], code: chosen?.text ?? "", expected };
  });
}

interface Group {
  readonly codes: Block[];
  expected?: Block;
}

function groupsIn(markdown: string): (Omit<Group, "expected"> & { readonly expected: Block | undefined })[] {
  const groups: Group[] = [];
  let isOpen = false;
  for (const block of blocksIn(markdown)) {
    const last = groups.at(-1);
    if (!runnable.includes(block.language)) {
      if (last && isOpen) last.expected = block;
      isOpen = false;
    } else if (last && isOpen && block.isNeighbour && last.codes.every((code) => code.language !== block.language)) {
      last.codes.push(block);
    } else {
      groups.push({ codes: [block] });
      isOpen = true;
    }
  }
  return groups.map(({ codes, expected }) => ({ codes, expected }));
}

function blocksIn(markdown: string): Block[] {
  let end = 0;
  return [...markdown.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)].map((match) => {
    const [all, language = "", text = ""] = match;
    const isNeighbour = end > 0 && markdown.slice(end, match.index).trim() === "";
    end = match.index + all.length;
    return { language, text, isNeighbour };
  });
}

/** Returns how `actual` differs from the page; undefined if it doesn't. `…` on the page matches anything. */
export function difference({ language, text }: { language: string; text: string }, actual: string): string | undefined {
  if (language === "json") {
    const expected = JSON.parse(text.replaceAll(/: …(?=\s*[,}\]])/g, ': "…"'));
    return Bun.deepEquals(filled(expected, JSON.parse(actual)), JSON.parse(actual)) ? undefined : actual;
  }
  if (language === "xml") return isLike(withoutIndent(text), withoutIndent(actual)) ? undefined : actual;
  if (language === "http") return httpDifference(text, actual.replaceAll("\r", ""));
  return isLike(text.trim(), actual.trim()) ? undefined : actual;
}

/** Replaces each `…` in `expected` with what `actual` has there. */
function filled(expected: unknown, actual: unknown): unknown {
  if (expected === "…") return actual;
  if (typeof expected === "string") return isLike(expected, String(actual)) ? actual : expected;
  if (Array.isArray(expected)) return expected.map((item, index) => filled(item, (actual as unknown[])?.[index]));
  if (typeof expected !== "object" || expected === null) return expected;
  const entries = Object.entries(expected).map(([name, value]) => [
    name,
    filled(value, (actual as Record<string, unknown>)?.[name]),
  ]);
  return Object.fromEntries(entries);
}

/** The page shows some of the headers, and the body if there is one. */
function httpDifference(expected: string, actual: string): string | undefined {
  const [head = "", body] = expected.trimEnd().split("\n\n");
  const [actualHead = "", actualBody = ""] = actual.split("\n\n");
  const lines = actualHead.split("\n");
  const missing = head
    .split("\n")
    .filter((line) => !lines.some((candidate) => isLike(line.toLowerCase(), candidate.toLowerCase())));
  if (missing.length > 0) return `${missing.join("\n")}\nis not in\n${actualHead}`;
  return body === undefined || isLike(body.trim(), actualBody.trim()) ? undefined : actualBody;
}

function isLike(pattern: string, text: string): boolean {
  const source = pattern
    .split("…")
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("[\\s\\S]+?");
  return new RegExp(`^${source}$`).test(text);
}

function withoutIndent(xml: string): string {
  return xml.trim().replace(/>\s+</g, "><");
}
