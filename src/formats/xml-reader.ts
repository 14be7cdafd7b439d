// A parser for XML 1.0 documents without a DOCTYPE. The parser of the runtime does not report the position of an error, and has no bound on depth or
// on the number of elements.

import { Refusal } from "../model/errors.ts";
import { maxDepth, shownAt, tooDeep } from "./malformed.ts";
import {
  declarationPattern,
  invalidCharacter,
  normalizedAttribute,
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

/** Attributes of one element. */
const maxAttributes = 100;

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

class XmlReader extends XmlScanner {
  readonly #maxElements: number;
  readonly #open: OpenElement[] = [];
  #root: XmlElement | undefined;
  #elements = 0;

  constructor(text: string, maxElements: number) {
    super(text);
    this.#maxElements = maxElements;
  }

  read(): XmlDocument {
    const text = this.text;
    const bad = text.search(invalidCharacter);
    if (bad !== -1) this.refuse(`XML cannot contain ${shownAt(text, bad)}`, bad);
    if (/^<\?xml[ \t\r\n]/.test(text) && !this.skip(declarationPattern))
      this.refuse("the XML declaration is malformed");
    while (this.at < text.length && this.#elements <= this.#maxElements) {
      if (text[this.at] === "<") this.#markup();
      else this.#characters();
    }
    if (!this.#root) this.refuse("the document has no element");
    const isCut = this.#elements > this.#maxElements;
    const last = this.#open.at(-1);
    if (last && !isCut) this.refuse(`\`</${shorten(last.name)}>\` is missing`);
    return { root: this.#root, isCut };
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
    if (this.#root && this.#open.length === 0)
      this.refuse("a document has one root element; this is the second", begin);
    if (this.#open.length > maxDepth) throw tooDeep(this.text, begin);
    const element = { name, attributes: this.#attributes(), children: [] };
    this.#root ??= element;
    this.#open.at(-1)?.children.push(element);
    this.#elements++;
    if (this.text[this.at] !== "/") this.#open.push(element);
    else if (this.text[++this.at] !== ">") this.refuse(`expected \`>\` after \`/\`, not ${this.shown}`);
    this.at++;
  }

  /** The attributes up to the `>` or `/` at the end of the tag. */
  #attributes(): ReadonlyMap<string, string> {
    const attributes = new Map<string, string>();
    while (true) {
      const hasSpace = this.skip(spacePattern);
      const next = this.text[this.at];
      if (next === ">" || next === "/") return attributes;
      if (!hasSpace) this.refuse(`expected white space, \`/>\` or \`>\`, not ${this.shown}`);
      const begin = this.at;
      const name = this.name("an attribute, `/>` or `>`");
      if (attributes.has(name)) this.refuse(`the attribute \`${shorten(name)}\` appears more than once`, begin);
      if (attributes.size === maxAttributes) this.refuse(`an element has at most ${maxAttributes} attributes`, begin);
      attributes.set(name, this.#attributeValue(name));
    }
  }

  #attributeValue(name: string): string {
    this.skip(spacePattern);
    if (this.text[this.at] !== "=") this.refuse(`expected \`=\` after \`${shorten(name)}\`, not ${this.shown}`);
    this.at++;
    this.skip(spacePattern);
    const quote = this.text[this.at];
    if (quote !== '"' && quote !== "'") this.refuse(`expected a value in quotes, not ${this.shown}`);
    const begin = this.at + 1;
    const end = this.text.indexOf(quote, begin);
    if (end === -1) this.refuse("this quote is not closed");
    const raw = this.text.slice(begin, end);
    const markup = raw.indexOf("<");
    if (markup !== -1) this.refuse("an attribute must not contain `<`; write `&lt;`", begin + markup);
    this.at = end + 1;
    return this.resolved(raw, begin, normalizedAttribute);
  }

  #endTag(): void {
    const begin = this.at;
    this.at += 2;
    const name = this.name("an element's name after `</`");
    const open = this.#open.pop();
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
    } else if (text.startsWith("<![CDATA[", begin) && this.#open.length > 0) {
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
    if (this.#open.length === 0) {
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
    if (text !== "") this.#open.at(-1)?.children.push(text);
  }
}
