// Reads the examples of a Markdown page: code that runs, and its expected output.

export interface Example {
  readonly language: "sh" | "js" | "python";
  readonly code: string;
  readonly expected: { readonly language: string; readonly text: string } | undefined;
}

const runnable = ["sh", "js", "python"];

/** The examples in the order of the page. A block that runs is followed by its output. */
export function examplesIn(markdown: string): Example[] {
  const blocks = [...markdown.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)].map(([, language = "", text = ""]) => ({
    language,
    text,
  }));
  return blocks.flatMap(({ language, text }, index) => {
    if (!runnable.includes(language)) return [];
    const next = blocks[index + 1];
    const expected = next && !runnable.includes(next.language) ? next : undefined;
    return [{ language: language as Example["language"], code: text, expected }];
  });
}

/** The difference between `actual` and the page; undefined if there is none. `…` on the page matches anything. */
export function difference({ language, text }: { language: string; text: string }, actual: string): string | undefined {
  if (language === "json")
    return Bun.deepEquals(filled(JSON.parse(text), JSON.parse(actual)), JSON.parse(actual)) ? undefined : actual;
  if (language === "xml") return isLike(withoutIndent(text), withoutIndent(actual)) ? undefined : actual;
  if (language === "http") return httpDifference(text, actual.replaceAll("\r", ""));
  return isLike(text.trim(), actual.trim()) ? undefined : actual;
}

/** `expected` with each `…` replaced by the text of `actual` at that place. */
function filled(expected: unknown, actual: unknown): unknown {
  if (expected === "…") return actual;
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
