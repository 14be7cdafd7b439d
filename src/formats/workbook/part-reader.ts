// Reads the XML of a workbook's part.

import { XmlChunkReader } from "../xml-chunks.ts";
import type { XmlElement } from "../xml-parser.ts";
import { tooLargeError, workbookLimits } from "./workbook-limits.ts";

const maxDepth = 64;

/** In an element that's in memory as a whole. A row of 16,384 cells with their formulas has 50,000. */
const maxElements = 250_000;

/** Reads the children of some elements one by one, and discards everything else. Names are compared without their prefixes. */
export class PartReader extends XmlChunkReader {
  readonly #parents: readonly string[];
  /** The index in `open` of the element whose children are being read. */
  #parent: number | undefined;
  /** How much has been read of its child. */
  #length = 0;
  #isDone = false;

  /** @param parents names of elements that don't contain each other */
  constructor(parents: readonly string[]) {
    super("", maxElements, maxDepth);
    this.#parents = parents;
  }

  /** Whether there's nothing more to read, because the only parent has ended. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /**
   * Returns the children that have ended in a chunk.
   * @param chunk undefined at the end of the part
   * @throws ProblemError `bad-request` if the XML is malformed, `too-large` if an element is
   */
  readChunk(chunk: string | undefined): XmlElement[] {
    const children: XmlElement[] = [];
    this.addChunk(chunk ?? "", this.at);
    while (this.at < this.text.length && !this.#isDone && (chunk === undefined || this.isTokenComplete())) {
      const start = this.at;
      if (this.isAtStart) this.declaration();
      if (this.at === start) this.token();
      this.#length += this.at - start;
      const child = this.#takeChild();
      if (child) children.push(child);
      if (this.isCut || this.#length > workbookLimits.elementLength) throw tooLargeError("a row or text is too long");
    }
    if (this.text.length - this.at > workbookLimits.tokenLength) throw tooLargeError("a text is too long");
    if (chunk === undefined && !this.#isDone) this.end();
    return children;
  }

  /** Takes a child that has just ended out of its parent, and everything else that isn't in a child. */
  #takeChild(): XmlElement | undefined {
    const { open } = this;
    const last = open.at(-1);
    if (this.#parent !== undefined && open.length <= this.#parent) {
      this.#parent = undefined;
      this.#isDone = this.#parents.length === 1;
    }
    if (last && this.#parent === undefined && this.#parents.includes(localName(last))) this.#parent = open.length - 1;
    if (this.#parent !== undefined && open.length > this.#parent + 1) return undefined;
    this.elements = 0;
    this.#length = 0;
    const child = last?.children.pop();
    return this.#parent === undefined || typeof child === "string" ? undefined : child;
  }

  /** Some programs write each half of a character beyond U+FFFF as a reference of its own. */
  protected override resolved(raw: string, begin: number, normalize: (text: string) => string): string {
    const joined = raw.includes("&#")
      ? raw.replace(/&#(xd[89ab][0-9a-f]{2}|5[56]\d{3});&#(xd[c-f][0-9a-f]{2}|5[67]\d{3});/gi, (halves, high, low) => {
          const character = String.fromCharCode(Number(`0${high}`), Number(`0${low}`));
          return character.isWellFormed() ? character : halves;
        })
      : raw;
    return super.resolved(joined, begin, normalize);
  }
}

/** Returns an element's name without its prefix. */
export function localName({ name }: Pick<XmlElement, "name">): string {
  const colon = name.indexOf(":");
  return colon === -1 ? name : name.slice(colon + 1);
}

/** Returns the children of an element that have this name, ignoring prefixes. */
export function elementsIn({ children }: XmlElement, name: string): XmlElement[] {
  return children.filter((child) => typeof child !== "string" && localName(child) === name) as XmlElement[];
}

/** Returns the first of them. */
export function elementIn({ children }: XmlElement, name: string): XmlElement | undefined {
  for (const child of children) if (typeof child !== "string" && localName(child) === name) return child;
  return undefined;
}
