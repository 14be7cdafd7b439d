// Reads the children of an XML document's root element one by one. It uses the parser for whole documents, but removes each child once it's been read.

import { ErrorBudget, noMoreHints, ProblemError } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { type FileItem, type ItemErrors, type ItemReader, itemsOfFile, maxItemLength, recordErrors } from "./items.ts";
import { maxDepth } from "./syntax-errors.ts";
import { decodeText, isUtf8Name } from "./text-encoding.ts";
import { XmlChunkReader } from "./xml-chunks.ts";
import { escapeText } from "./xml-elements.ts";
import type { XmlElement } from "./xml-parser.ts";
import { decodeRecord, isElement } from "./xml-records.ts";

export interface XmlItem {
  /** From 1. */
  readonly number: number;
  /** The text of the element in the document. */
  readonly text: string;
  readonly element: XmlElement;
  /** Whether reading stopped within it because there were too many elements. */
  readonly isCut: boolean;
  /** The root element, without its children; undefined if it is the only item itself. */
  readonly root: XmlElement | undefined;
}

/** A document that has items. */
export interface XmlList {
  /** The name of the root element. If it has another name, the root element is the only item. */
  readonly name: string;
  /** Called with the root element as soon as it is read. @throws ProblemError if it's the wrong one */
  requireRoot(root: XmlElement): void;
  /** Called with the text between the items. */
  requireText?(text: string): void;
  readonly errors: ItemErrors;
  /** What to report about a document of white space only. */
  readonly emptyDetail: string;
  /** Maximum elements of an item. */
  readonly maxElements?: number;
}

/** Yields the records of a file: the children of `<Results>`, or the only record. @throws ProblemError `bad-request`, `unsupported-media-type` */
export async function* readXmlRecords(resource: Resource, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<FileItem> {
  const list: XmlList = {
    name: "Results",
    errors: recordErrors,
    emptyDetail: "the file is empty",
    requireRoot({ name }) {
      if (name !== list.name && name !== resource.element)
        throw new ProblemError("bad-request", `the root element must be <${list.name}>, not <${name.slice(0, 100)}>`);
    },
  };
  const errors = new ErrorBudget(noMoreHints);
  for await (const { element, root, text } of itemsOfFile(xmlItems(list), decodeText(bytes))) {
    const decoded = decodeRecord(resource, element, { ancestors: root ? [root] : [], limits: errors.limits });
    errors.spend(decoded.fieldErrors.length);
    yield { text, decoded, declarations: root && declarationsOf(root) };
  }
}

/** Returns the declarations of prefixes in an element, as they can be written into a start tag. */
function declarationsOf({ attributes }: XmlElement): string {
  const declared = [...attributes].filter(([name]) => name.startsWith("xmlns:"));
  return declared.map(([name, value]) => ` ${name}="${escapeText(value).replaceAll('"', "&quot;")}"`).join("");
}

/** Reads the items of a document. */
export function xmlItems(list: XmlList): ItemReader<XmlItem> {
  return new XmlItems(list).items();
}

class XmlItems extends XmlChunkReader {
  readonly #list: XmlList;
  /** The index at which the item that is being read begins, or the next token outside of items. */
  #begin = 0;
  #isReadingItem = false;
  #isBlank = true;
  #count = 0;

  constructor(list: XmlList) {
    // The list, and the element around the record of an operation, aren't levels of the record.
    super("", list.maxElements ?? Number.POSITIVE_INFINITY, maxDepth + 2);
    this.#list = list;
  }

  *items(): ItemReader<XmlItem> {
    const { errors, name, emptyDetail } = this.#list;
    try {
      for (let chunk = yield; chunk !== undefined; chunk = yield) {
        this.#add(chunk);
        yield* this.#completeItems(false);
        if (this.text.length - this.#start > maxItemLength) throw errors.tooLong(this.#count + 1);
      }
      yield* this.#completeItems(true);
      if (this.#isBlank) throw new ProblemError("bad-request", emptyDetail);
      const root = this.end();
      if (root.name !== name) yield this.#itemOf(root, this.text.length);
    } catch (error) {
      throw this.#isReadingItem ? errors.inItem(this.#count + 1, error) : error;
    }
  }

  /** Adds a chunk, and discards the text before the item that is being read. */
  #add(chunk: string): void {
    const start = this.#start;
    this.#begin -= start;
    this.addChunk(chunk, start);
  }

  /** The index from which on the text is still needed. */
  get #start(): number {
    if (this.#isInItem) return this.#begin;
    // It's known only later whether an LF follows a CR, which belongs to the same line end.
    return this.text.endsWith("\r", this.at) ? this.at - 1 : this.at;
  }

  /** Yields the items that are complete. @param isEnd whether the whole text has arrived */
  *#completeItems(isEnd: boolean): Generator<XmlItem, void, string | undefined> {
    for (;;) {
      if (!this.#isInItem) this.skipSpace();
      this.#isReadingItem = this.#isInItem || this.#isAtItem;
      if (this.at === this.text.length || !(isEnd || this.isTokenComplete())) return;
      this.#isBlank = false;
      const isStart = this.isAtStart;
      if (isStart) this.declaration();
      // The token after the declaration may not have arrived yet.
      const item = isStart && this.at > 0 ? undefined : this.#nextToken();
      if (item) yield item;
    }
  }

  /** Reads a token. Returns the item that ends with it. */
  #nextToken(): XmlItem | undefined {
    if (!this.#isInItem) {
      this.#begin = this.at;
      this.elements = 0;
    }
    const hadRoot = this.root !== undefined;
    this.token();
    if (!hadRoot && this.root) this.#list.requireRoot(this.root);
    if (this.#isInItem) return undefined;
    const child = this.open[0]?.children.pop();
    if (child !== undefined && isElement(child)) return this.#itemOf(child, this.at);
    this.requireCharacters(this.#begin, this.at);
    if (child !== undefined) this.#list.requireText?.(child);
    return undefined;
  }

  #itemOf(element: XmlElement, end: number): XmlItem {
    this.requireCharacters(this.#begin, end);
    const text = this.text.slice(this.#begin, end).trimEnd();
    const root = element === this.root ? undefined : this.root;
    return { number: ++this.#count, text, element, isCut: this.isCut, root };
  }

  /** The bytes of the file say which of UTF-8 and UTF-16 it is. The declaration is often wrong about that. */
  protected override declaration(): void {
    super.declaration();
    const declared = /encoding[ \t\r\n]*=[ \t\r\n]*["']([^"']*)/.exec(this.text.slice(0, this.at))?.[1];
    if (declared === undefined || isUtf8Name(declared) || /^utf-?16(?:le|be)?$/i.test(declared)) return;
    throw new ProblemError(
      "unsupported-media-type",
      `the file declares the encoding ${declared.slice(0, 40)}; save it as UTF-8, and change the declaration to encoding="utf-8"`,
    );
  }

  /** Whether the index `at` is within an item. */
  get #isInItem(): boolean {
    return this.root !== undefined && (this.root.name !== this.#list.name || this.open.length > 1);
  }

  /** Whether the index `at` is at the start tag of an item. */
  get #isAtItem(): boolean {
    const next = this.text[this.at + 1];
    return this.open.length === 1 && this.text[this.at] === "<" && next !== "/" && next !== "!" && next !== "?";
  }
}
