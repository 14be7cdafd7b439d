// Parses XML 1.0 without a DOCTYPE. We have our own parser because the runtime's doesn't report the position of an error, and doesn't limit the depth or the
// number of elements.

import { ProblemError } from "../model/errors.ts";
import { invalidInXml } from "../model/field.ts";
import { guessForm } from "./other-forms.ts";
import { firstPosition, malformedError, maxDepth, notShown, shownAt, tooDeepError } from "./syntax-errors.ts";
import { predefinedEntities, quotesHint, referenceDetail } from "./xml-advice.ts";

// XML 1.0 sections 2.2, 2.3 and 2.8. No pattern can match a text in two ways, so a match takes time in proportion to the length of the text.
const nameStart =
  ":A-Z_a-z\\u{c0}-\\u{d6}\\u{d8}-\\u{f6}\\u{f8}-\\u{2ff}\\u{370}-\\u{37d}\\u{37f}-\\u{1fff}\\u{200c}-\\u{200d}\\u{2070}-\\u{218f}\\u{2c00}-\\u{2fef}\\u{3001}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{fffd}\\u{10000}-\\u{effff}";
const namePattern = new RegExp(`[${nameStart}][${nameStart}\\-.0-9\\u{b7}\\u{300}-\\u{36f}\\u{203f}-\\u{2040}]*`, "uy");
const spacePattern = /[ \t\r\n]*/y;
const declarationPattern =
  /<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.[0-9]+"|'1\.[0-9]+')(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"[A-Za-z][\w.-]*"|'[A-Za-z][\w.-]*'))?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*\?>/y;

/** Per element. */
const maxAttributes = 100;

/** Shared by all elements without attributes, which are most of them. */
const noAttributes: ReadonlyMap<string, string> = new Map();

export interface XmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** Elements, and the text between them. Adjacent text may be in several strings. */
  readonly children: readonly (XmlElement | string)[];
}

export interface XmlDocument {
  readonly root: XmlElement;
  /** Whether reading stopped because there were too many elements. */
  readonly isCut: boolean;
}

/**
 * @param maxElements the rest isn't read
 * @throws ProblemError `bad-request` if the text is malformed, has a DOCTYPE or exceeds `maxDepth`
 */
export function parseXml(text: string, maxElements = Number.POSITIVE_INFINITY): XmlDocument {
  return new XmlReader(text, maxElements).read();
}

/** An element before its end tag was read. */
interface OpenElement {
  readonly name: string;
  readonly children: (XmlElement | string)[];
}

/** Reads a document. `root` is the root element, as far as it was read. `open` has the elements that contain the index `at`, outermost first. */
export class XmlReader {
  protected text: string;
  protected at = 0;
  /** The position of the beginning of `text` in its document, because `text` may be a part of it. */
  protected from = firstPosition;
  readonly #maxElements: number;
  readonly #maxDepth: number;
  protected readonly open: OpenElement[] = [];
  protected root: XmlElement | undefined;
  protected elements = 0;

  /**
   * @param maxElements maximum number of elements. Elements after it are not read
   * @param deepest maximum depth, if the root element is not a record
   */
  constructor(text: string, maxElements: number, deepest = maxDepth) {
    this.text = text;
    this.#maxElements = maxElements;
    this.#maxDepth = deepest;
  }

  read(): XmlDocument {
    this.requireCharacters(0);
    this.declaration();
    while (this.at < this.text.length && !this.isCut) this.token();
    return { root: this.end(this.isCut), isCut: this.isCut };
  }

  /** Whether there were too many elements. What follows is not added to the document. */
  protected get isCut(): boolean {
    return this.elements > this.#maxElements;
  }

  /** @throws ProblemError if the text has a character that XML cannot contain, at the index `start` or later, before the index `end` */
  protected requireCharacters(start: number, end?: number): void {
    const bad = this.text.slice(start, end).search(invalidInXml);
    if (bad !== -1) this.fail(`XML can't contain ${shownAt(this.text, start + bad)}; leave it out`, start + bad);
  }

  /** Skips the XML declaration, if there is one. */
  protected declaration(): void {
    if (/^<\?xml[ \t\r\n]/.test(this.text) && !this.skip(declarationPattern)) this.fail(malformedDeclaration);
  }

  /** Reads the tag, comment, instruction, CDATA section or text that begins at the index `at`. */
  protected token(): void {
    if (this.text[this.at] === "<") this.#markup();
    else this.#characters();
  }

  /** Returns the root element at the end of the text. @param isCut whether elements may still be open */
  protected end(isCut = false): XmlElement {
    if (!this.root) this.fail("the document has no element");
    const last = this.open.at(-1);
    if (last && !isCut) this.fail(`\`</${shorten(last.name)}>\` is missing`);
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
    const name = this.name("an element's name after `<`", this.root && lessThanHint);
    if (this.root && this.open.length === 0) this.fail(secondRoot, begin);
    if (this.open.length > this.#maxDepth) throw tooDeepError(this.text, begin, this.from);
    const element = { name, attributes: this.attributes(), children: [] };
    this.root ??= element;
    if (!this.isCut) this.open.at(-1)?.children.push(element);
    this.elements++;
    if (this.text[this.at] !== "/") this.open.push(element);
    else if (this.text[++this.at] !== ">") this.fail(`expected \`>\` after \`/\`, ${this.notShown}`);
    this.at++;
  }

  #endTag(): void {
    const begin = this.at;
    this.at += 2;
    const open = this.open.pop();
    if (open && this.#skipEndOf(open)) return;
    const name = this.name("an element's name after `</`");
    if (!open) this.fail(`\`</${shorten(name)}>\` has no start tag`, begin);
    if (open.name !== name) {
      const [expected, sent] = [shorten(open.name), shorten(name)];
      const hint =
        this.open.at(-1)?.name === name
          ? `; \`<${expected}>\` is still open: close it, or write its \`<\` as \`&lt;\` if it is text`
          : "";
      this.fail(`expected \`</${expected}>\`, not \`</${sent}>\`${hint}`, begin);
    }
    this.skipSpace();
    if (this.text[this.at] !== ">") this.fail(`expected \`>\`, ${this.notShown}`);
    this.at++;
  }

  /** Skips the rest of an end tag if it is that of `element`, without white space. */
  #skipEndOf({ name }: OpenElement): boolean {
    const end = this.at + name.length;
    if (this.text[end] !== ">" || !this.text.startsWith(name, this.at)) return false;
    this.at = end + 1;
    return true;
  }

  #instruction(): void {
    const begin = this.at;
    this.at += 2;
    const target = this.name("a name after `<?`");
    const isFirst = begin === 0 && this.from.line === 1 && this.from.column === 1;
    if (target.toLowerCase() === "xml") this.fail(isFirst ? malformedDeclaration : lateDeclaration, begin);
    const end = this.text.indexOf("?>", this.at);
    if (end === -1) this.fail("unterminated processing instruction", begin);
    if (end > this.at && !this.skip(spacePattern)) this.fail(`expected white space or \`?>\`, ${this.notShown}`);
    this.at = end + 2;
  }

  #commentOrCdata(): void {
    const text = this.text;
    const begin = this.at;
    if (text.startsWith("<!--", begin)) {
      const end = text.indexOf("--", begin + 4);
      if (end === -1) this.fail("unterminated comment", begin);
      if (text[end + 2] !== ">") this.fail("a comment can't contain `--`", end);
      this.at = end + 3;
    } else if (text.startsWith("<![CDATA[", begin) && this.open.length > 0) {
      const end = text.indexOf("]]>", begin);
      if (end === -1) this.fail("unterminated CDATA section", begin);
      this.#addText(normalizedLines(text.slice(begin + 9, end)));
      this.at = end + 3;
    } else if (text.startsWith("<!DOCTYPE", begin)) throw doctypeError(text.slice(begin, begin + 20));
    else this.fail("expected a comment or a CDATA section after `<!`");
  }

  /** Reads the text up to the next markup. */
  #characters(): void {
    const begin = this.at;
    const next = this.text.indexOf("<", begin);
    const end = next === -1 ? this.text.length : next;
    const raw = this.text.slice(begin, end);
    if (this.open.length === 0) {
      const stray = raw.search(/[^ \t\r\n]/);
      if (stray !== -1) {
        const form = this.root ? undefined : guessForm(raw);
        this.fail(`expected an element, ${notShown(raw, stray)}${form ? `; ${form.hint}` : ""}`, begin + stray);
      }
    } else {
      const section = raw.indexOf("]]>");
      if (section !== -1) this.fail("text must not contain `]]>`; write `]]&gt;`", begin + section);
      this.#addText(this.resolved(raw, begin, normalizedLines));
    }
    this.at = end;
  }

  #addText(text: string): void {
    if (text !== "" && !this.isCut) this.open.at(-1)?.children.push(text);
  }

  /** Skips the text that `pattern` matches. Returns whether it is not empty. */
  protected skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text) || pattern.lastIndex === this.at) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  /** Skips white space. Returns whether there was any. */
  protected skipSpace(): boolean {
    // Most often, no space is there, and the pattern is not needed.
    return this.text.charCodeAt(this.at) <= 0x20 && this.skip(spacePattern);
  }

  /** Reads a name. @param expected the expected token, for the message if the text has something else @param hint what to do then */
  protected name(expected: string, hint = ""): string {
    const begin = this.at;
    const end = endOfAsciiName(this.text, begin);
    if (end !== undefined) this.at = end;
    else if (!this.skip(namePattern)) this.fail(`expected ${expected}, ${this.notShown}${hint}`);
    return this.text.slice(begin, this.at);
  }

  /**
   * Replaces the references in `raw` by their characters (section 4.1), and normalizes the text between them.
   * @param begin the index of `raw` in the text
   * @param normalize normalizes line ends (section 2.11) or the white space of attributes (section 3.3.3)
   */
  protected resolved(raw: string, begin: number, normalize: (text: string) => string): string {
    let resolved = "";
    let from = 0;
    for (let at = raw.indexOf("&"); at !== -1; at = raw.indexOf("&", from)) {
      const end = raw.indexOf(";", at);
      const character = end === -1 ? undefined : toCharacter(raw.slice(at + 1, end));
      if (character === undefined) this.fail(referenceDetail(raw, at), begin + at);
      resolved += normalize(raw.slice(from, at)) + character;
      from = end + 1;
    }
    return resolved + normalize(raw.slice(from));
  }

  /** Reads the attributes, up to the `>` or `/` at the end of the tag. */
  protected attributes(): ReadonlyMap<string, string> {
    let attributes: Map<string, string> | undefined;
    while (true) {
      const hasSpace = this.skipSpace();
      const next = this.text[this.at];
      if (next === ">" || next === "/") return attributes ?? noAttributes;
      if (!hasSpace) {
        const hint = next === "<" ? lessThanHint : "";
        this.fail(`expected white space, \`/>\` or \`>\`, ${this.notShown}${hint}`);
      }
      const begin = this.at;
      const name = this.name("an attribute, `/>` or `>`");
      attributes ??= new Map();
      if (attributes.has(name)) this.fail(`the attribute \`${shorten(name)}\` appears more than once`, begin);
      if (attributes.size === maxAttributes) this.fail(`an element has at most ${maxAttributes} attributes`, begin);
      attributes.set(name, this.#attributeValue(name));
    }
  }

  #attributeValue(name: string): string {
    this.skipSpace();
    if (this.text[this.at] !== "=") this.fail(`expected \`=\` after \`${shorten(name)}\`, ${this.notShown}`);
    this.at++;
    this.skipSpace();
    const quote = this.text[this.at];
    if (quote !== '"' && quote !== "'")
      this.fail(`expected a value in quotes, ${this.notShown}${quotesHint(this.text, this.at)}`);
    const begin = this.at + 1;
    const end = this.text.indexOf(quote, begin);
    if (end === -1) this.fail("unterminated attribute value");
    const raw = this.text.slice(begin, end);
    const markup = raw.indexOf("<");
    if (markup !== -1)
      this.fail("an attribute must not contain `<`; write `&lt;`, or close the quote before it", begin + markup);
    this.at = end + 1;
    return this.resolved(raw, begin, normalizedAttribute);
  }

  /** Shows the next character, which is unexpected. */
  protected get notShown(): string {
    return notShown(this.text, this.at);
  }

  protected fail(detail: string, at = this.at): never {
    throw malformedError("well-formed XML", this.text, at, detail, this.from);
  }
}

/** Returns the index after the ASCII name at `start`. Undefined if there's no name or it has other characters: `namePattern` reads these, but takes longer. */
function endOfAsciiName(text: string, start: number): number | undefined {
  let at = start;
  let code = text.charCodeAt(at);
  if (!isAsciiLetter(code)) return undefined;
  while (isAsciiLetter(code) || (code >= 0x2d && code <= 0x3a && code !== 0x2f)) code = text.charCodeAt(++at);
  return code < 0x80 ? at : undefined;
}

/** Includes `_`. */
function isAsciiLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f;
}

/** Returns the character that `&reference;` stands for; undefined if it's invalid. Without a DOCTYPE, only the predefined entities exist. */
function toCharacter(reference: string): string | undefined {
  if (!reference.startsWith("#"))
    return Object.hasOwn(predefinedEntities, reference) ? predefinedEntities[reference] : undefined;
  const isHexadecimal = reference[1] === "x";
  if (!(isHexadecimal ? /^#x[0-9A-Fa-f]+$/ : /^#[0-9]+$/).test(reference)) return undefined;
  const code = isHexadecimal ? Number.parseInt(reference.slice(2), 16) : Number(reference.slice(1));
  const isCharacter = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  const character = isCharacter ? String.fromCodePoint(code) : "";
  return character === "" || invalidInXml.test(character) ? undefined : character;
}

const malformedDeclaration =
  'the XML declaration is malformed; write `<?xml version="1.0" encoding="utf-8"?>`, or leave it out';
const lateDeclaration = "an XML declaration must come first; remove what's before it";
const lessThanHint = "; write a `<` in text as `&lt;`";

const secondRoot =
  "this is a second root element. To send several records, use a batch request (POST /restapi/batch.xml), or `<Results>` in a file";

function doctypeError(start: string): ProblemError {
  const hint = /^<!DOCTYPE\s+html/i.test(start) ? "; this is an HTML page" : "; leave it out";
  return new ProblemError("bad-request", `a DOCTYPE isn't allowed${hint}`);
}

function normalizedLines(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

function normalizedAttribute(text: string): string {
  return text.replace(/\r\n|[\t\r\n]/g, " ");
}

function shorten(text: string): string {
  return text.slice(0, 40);
}
