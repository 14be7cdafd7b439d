// The records of an XML list, one after the other, so that the list can have any size. The reader is the one for whole documents; it forgets each
// record once it was read.

import { Refusal } from "../model/errors.ts";
import { type FileItem, maxItemLength, tooLong } from "./file-items.ts";
import { positionOf } from "./malformed.ts";
import { type XmlElement, XmlReader } from "./xml-reader.ts";

/** An element that is a record, and how it is written. */
interface ElementItem extends Pick<FileItem, "text"> {
  readonly element: XmlElement;
}

/**
 * The elements in the root element of a document if that is named `list`; otherwise the root element.
 * @param requireRoot is called with the name of the root element as soon as it is read
 * @throws Refusal `bad-request` where the text is malformed, empty, or has a record longer than `maxItemLength`
 */
export async function* readXmlItems(
  chunks: AsyncIterable<string>,
  list: string,
  requireRoot: (name: string) => void,
): AsyncGenerator<ElementItem> {
  const reader = new XmlItems(list, requireRoot);
  for await (const chunk of chunks) {
    reader.add(chunk);
    yield* reader.items(false);
    reader.requireBounded();
  }
  yield* reader.items(true);
}

class XmlItems extends XmlReader {
  readonly #list: string;
  readonly #requireRoot: (name: string) => void;
  /** The index at which the record begins that is being read. */
  #begin = 0;
  #isBegun = false;
  #count = 0;

  constructor(list: string, requireRoot: (name: string) => void) {
    super("", Number.POSITIVE_INFINITY);
    this.#list = list;
    this.#requireRoot = requireRoot;
  }

  /** Adds a chunk, and forgets what was read before the record that is being read. */
  add(chunk: string): void {
    const end = this.#isInItem ? this.#begin : this.at;
    this.from = positionOf(this.text, end, this.from);
    this.text = this.text.slice(end) + chunk;
    this.at -= end;
    this.#begin -= end;
    this.requireCharacters(this.text.length - chunk.length);
  }

  /** @throws Refusal `bad-request` when more has arrived than a record may have */
  requireBounded(): void {
    if (this.text.length - (this.#isInItem ? this.#begin : this.at) > maxItemLength) throw tooLong(this.#count + 1);
  }

  /** The records that are complete. @param isEnd whether nothing follows */
  *items(isEnd: boolean): Generator<ElementItem> {
    while (this.at < this.text.length && (isEnd || this.#isTokenComplete())) {
      if (!this.#isBegun) this.declaration();
      this.#isBegun = true;
      if (!this.#isInItem) this.#begin = this.at;
      const hadRoot = this.root !== undefined;
      this.token();
      if (!hadRoot && this.root) this.#requireRoot(this.root.name);
      yield* this.#taken();
    }
    if (!isEnd) return;
    if (!this.#isBegun) throw new Refusal("bad-request", "the file is empty");
    const root = this.end();
    if (root.name !== this.#list) yield { element: root, text: this.text.slice(this.#begin).trimEnd() };
  }

  /** Whether the index is in an element that is a record. */
  get #isInItem(): boolean {
    return this.root !== undefined && (this.root.name !== this.#list || this.open.length > 1);
  }

  /** Takes the elements that are complete out of the list. */
  *#taken(): Generator<ElementItem> {
    const [list] = this.open;
    if (!list || this.#isInItem) return;
    for (const child of list.children.splice(0)) {
      if (typeof child === "string") continue;
      this.#count++;
      yield { element: child, text: this.text.slice(this.#begin, this.at) };
    }
  }

  /** Whether the tag, comment, instruction, CDATA section or text that begins here has arrived to its end. */
  #isTokenComplete(): boolean {
    const { text, at } = this;
    if (text[at] !== "<") return text.includes("<", at);
    if (text[at + 1] === "?") return text.includes("?>", at);
    if (text[at + 1] !== "!") return isTagComplete(text, at);
    if (text.startsWith("<!--", at)) return text.includes("-->", at + 4);
    if (text.startsWith("<![CDATA[", at)) return text.includes("]]>", at);
    return text.length - at >= "<!DOCTYPE".length;
  }
}

/** Whether the text has the `>` of the tag that begins at `start`. In quotes, that is a character like others. */
function isTagComplete(text: string, start: number): boolean {
  for (let at = start; at < text.length; at++) {
    const character = text[at] as string;
    if (character === ">") return true;
    if (character !== '"' && character !== "'") continue;
    at = text.indexOf(character, at + 1);
    if (at === -1) return false;
  }
  return false;
}
