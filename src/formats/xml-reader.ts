// A parser for XML 1.0 documents without a DOCTYPE. The parser of the runtime does not report the position of an error, and has no bound on depth or
// on the number of elements.

import { Refusal } from "../model/errors.ts";
import { maxDepth, shownAt, tooDeep } from "./malformed.ts";
import {
  declarationPattern,
  invalidCharacter,
  normalizedLines,
  shorten,
  spacePattern,
  XmlScanner,
} from "./xml-scanner.ts";

export interface XmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** Elements, and the text between them. Adjacent text may be in several strings. */
  readonly children: readonly (XmlElement | string)[];
}

export interface XmlDocument {
  readonly root: XmlElement;
  /** Whether reading stopped at the bound on elements. */
  readonly isCut: boolean;
}

/**
 * Parses a document.
 * @param maxElements reading stops after this number of elements
 * @throws Refusal `bad-request` if the text is malformed, has a DOCTYPE or exceeds `maxDepth`
 */
export function readXml(text: string, maxElements = Number.POSITIVE_INFINITY): XmlDocument {
  return new XmlReader(text, maxElements).read();
}

/** An element whose end tag has not been read. */
interface OpenElement {
  readonly name: string;
  readonly children: (XmlElement | string)[];
}

/** Reads a document. What is read of it is in `root`; `open` has the elements around the index `at`. */
export class XmlReader extends XmlScanner {
  readonly #maxElements: number;
  protected readonly open: OpenElement[] = [];
  protected root: XmlElement | undefined;
  #elements = 0;

  constructor(text: string, maxElements: number) {
    super(text);
    this.#maxElements = maxElements;
  }

  read(): XmlDocument {
    this.requireCharacters(0);
    this.declaration();
    while (this.at < this.text.length && this.#elements <= this.#maxElements) this.token();
    const isCut = this.#elements > this.#maxElements;
    return { root: this.end(isCut), isCut };
  }

  /** @throws Refusal if the text has a character from `start` on that XML cannot contain */
  protected requireCharacters(start: number): void {
    const bad = this.text.slice(start).search(invalidCharacter);
    if (bad !== -1) this.refuse(`XML cannot contain ${shownAt(this.text, start + bad)}`, start + bad);
  }

  /** Skips the XML declaration, if there is one. */
  protected declaration(): void {
    if (/^<\?xml[ \t\r\n]/.test(this.text) && !this.skip(declarationPattern))
      this.refuse("the XML declaration is malformed");
  }

  /** Reads the tag, comment, instruction, CDATA section or text that begins here. */
  protected token(): void {
    if (this.text[this.at] === "<") this.#markup();
    else this.#characters();
  }

  /** The root element at the end of the text. @param isCut whether elements may be open */
  protected end(isCut = false): XmlElement {
    if (!this.root) this.refuse("the document has no element");
    const last = this.open.at(-1);
    if (last && !isCut) this.refuse(`\`</${shorten(last.name)}>\` is missing`);
    return this.root;
  }

  #markup(): void {
    const next = this.text[this.at + 1];
    if (next === "/") this.#endTag();
    else if (next === "?") this.#instruction();
    else if (next === "!") this.#commentOrCdata();
    else this.#startTag();
  }

  #startTag(): void {
    const begin = this.at++;
    const name = this.name("an element's name after `<`");
    if (this.root && this.open.length === 0) this.refuse("a document has one root element; this is the second", begin);
    if (this.open.length > maxDepth) throw tooDeep(this.text, begin, this.from);
    const element = { name, attributes: this.attributes(), children: [] };
    this.root ??= element;
    this.open.at(-1)?.children.push(element);
    this.#elements++;
    if (this.text[this.at] !== "/") this.open.push(element);
    else if (this.text[++this.at] !== ">") this.refuse(`expected \`>\` after \`/\`, not ${this.shown}`);
    this.at++;
  }

  #endTag(): void {
    const begin = this.at;
    this.at += 2;
    const name = this.name("an element's name after `</`");
    const open = this.open.pop();
    if (!open) this.refuse(`\`</${shorten(name)}>\` has no start tag`, begin);
    if (open.name !== name) {
      this.refuse(`expected \`</${shorten(open.name)}>\`, not \`</${shorten(name)}>\``, begin);
    }
    this.skip(spacePattern);
    if (this.text[this.at] !== ">") this.refuse(`expected \`>\`, not ${this.shown}`);
    this.at++;
  }

  #instruction(): void {
    const begin = this.at;
    this.at += 2;
    const target = this.name("a name after `<?`");
    if (target.toLowerCase() === "xml") this.refuse("an XML declaration must be at the very beginning", begin);
    const end = this.text.indexOf("?>", this.at);
    if (end === -1) this.refuse("this processing instruction is not closed", begin);
    if (end > this.at && !this.skip(spacePattern)) this.refuse(`expected white space or \`?>\`, not ${this.shown}`);
    this.at = end + 2;
  }

  #commentOrCdata(): void {
    const text = this.text;
    const begin = this.at;
    if (text.startsWith("<!--", begin)) {
      const end = text.indexOf("--", begin + 4);
      if (end === -1) this.refuse("this comment is not closed", begin);
      if (text[end + 2] !== ">") this.refuse("a comment must not contain `--`", end);
      this.at = end + 3;
    } else if (text.startsWith("<![CDATA[", begin) && this.open.length > 0) {
      const end = text.indexOf("]]>", begin);
      if (end === -1) this.refuse("this CDATA section is not closed", begin);
      this.#addText(normalizedLines(text.slice(begin + 9, end)));
      this.at = end + 3;
    } else if (text.startsWith("<!DOCTYPE", begin)) throw new Refusal("bad-request", "a DOCTYPE is not allowed");
    else this.refuse("expected a comment or a CDATA section after `<!`");
  }

  /** The text up to the next markup. */
  #characters(): void {
    const begin = this.at;
    const next = this.text.indexOf("<", begin);
    const end = next === -1 ? this.text.length : next;
    const raw = this.text.slice(begin, end);
    if (this.open.length === 0) {
      const stray = raw.search(/[^ \t\r\n]/);
      if (stray !== -1) this.refuse(`expected an element, not ${shownAt(raw, stray)}`, begin + stray);
    } else {
      const section = raw.indexOf("]]>");
      if (section !== -1) this.refuse("text must not contain `]]>`; write `]]&gt;`", begin + section);
      this.#addText(this.resolved(raw, begin, normalizedLines));
    }
    this.at = end;
  }

  #addText(text: string): void {
    if (text !== "") this.open.at(-1)?.children.push(text);
  }
}
