// Reads the promises in docs/contract.md. Each row, bullet and paragraph is one, numbered within its section.

export interface ContractPromise {
  /** Section and position in it, such as `7.3`. */
  readonly number: string;
  readonly section: number;
  /** On one line, without asterisks, and with ` | ` between a row's cells. */
  readonly text: string;
}

/** Returns the promises in page order. Titles, table heads and indented examples aren't promises. */
export function readPromises(markdown: string): ContractPromise[] {
  const promises: ContractPromise[] = [];
  for (const part of markdown.split(/^(?=## \d+\.)/m).slice(1)) {
    const section = Number(/^## (\d+)/.exec(part)?.[1]);
    const texts = blocksOf(part.split("\n").slice(1));
    texts.forEach((text, i) => {
      promises.push({ number: `${section}.${i + 1}`, section, text });
    });
  }
  return promises;
}

/** Returns the section's promise that starts with `firstWords`. @throws unless there's exactly one */
export function findPromise(
  promises: readonly ContractPromise[],
  section: number,
  firstWords: string,
): ContractPromise {
  const found = promises.filter((one) => one.section === section && one.text.startsWith(firstWords));
  const [promise] = found;
  if (!promise || found.length > 1)
    throw new Error(`${found.length} promises in section ${section} of the contract start with "${firstWords}"`);
  return promise;
}

function blocksOf(lines: readonly string[]): string[] {
  const blocks: string[][] = [];
  let isOpen = false;
  lines.forEach((line, i) => {
    const isExample = line.startsWith("    ") && !isOpen;
    const isHead = line.startsWith("|") && /^\|[-|]+$/.test(lines[i + 1] ?? "");
    if (line.trim() === "" || isExample || isHead || /^\|[-|]+$/.test(line)) isOpen = false;
    else if (line.startsWith("|") || /^ *- /.test(line) || !isOpen) {
      blocks.push([line]);
      isOpen = !line.startsWith("|");
    } else blocks.at(-1)?.push(line);
  });
  const texts = blocks.map((block) => block.join(" "));
  return texts.filter((text) => !isTitle(text)).map(plainText);
}

function plainText(text: string): string {
  const withoutMarks = text.replaceAll("**", "").replace(/^ *- /, "").replaceAll("\\|", "¦");
  return withoutMarks
    .replace(/^\| | \|$/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

function isTitle(text: string): boolean {
  return /^### /.test(text);
}
