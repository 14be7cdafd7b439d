// Reads the promises of docs/contract.md: each row, bullet and paragraph of a section is one, numbered within the section.

/** A row, bullet or paragraph of the contract. */
export interface ContractPromise {
  /** Section and place in it, such as `7.3`. */
  readonly number: string;
  readonly section: number;
  /** Its text on one line, without asterisks; the cells of a row are separated by ` | `. */
  readonly text: string;
}

/** Returns the promises in the order of the page. Titles, heads of tables and indented examples are not promises. */
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

/** Returns the promise of a section that begins with `beginning`. Throws unless there is exactly one. */
export function findPromise(promises: readonly ContractPromise[], section: number, beginning: string): ContractPromise {
  const found = promises.filter((one) => one.section === section && one.text.startsWith(beginning));
  const [promise] = found;
  if (!promise || found.length > 1)
    throw new Error(`${found.length} promises of section ${section} of the contract begin with "${beginning}"`);
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

/** Whether a block only names the blocks below it. */
function isTitle(text: string): boolean {
  return /^### /.test(text);
}
