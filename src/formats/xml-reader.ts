// XML 1.0, read by our own code: a document without a DOCTYPE, whose elements have no meaning yet. The reader of the runtime
// does not say where a text is malformed, and makes objects of all of it, however deep or full of elements that no record has.

import { Refusal } from "../model/errors.ts";
import { deepest, malformed, shownAt, tooDeep } from "./malformed.ts";

export interface XmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** Elements, and the text between them. Text may come in several pieces. */
  readonly children: readonly (XmlElement | string)[];
}

export interface XmlDocument {
  readonly root: XmlElement;
  /** Whether there were more elements than were asked for: then the rest was not read. */
  readonly isCut: boolean;
}

/** Most attributes of an element. */
const mostAttributes = 100;

/**
 * Reads a document.
 * @param most after so many elements the rest is not read
 * @throws Refusal `bad-request` where the text is malformed, has a DOCTYPE or is nested too deeply, with line and column
 */
export function readXml(text: string, most = Number.POSITIVE_INFINITY): XmlDocument {
  return new XmlReader(text, most).read();
}

/** An element whose end tag has not come yet. */
interface Open {
  readonly name: string;
  readonly children: (XmlElement | string)[];
}

// Sections 2.2, 2.3 and 2.8. No part of a pattern can match a text in two ways, so each takes time proportional to the text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not stand in a document
const unfit = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;
const nameStart =
  ":A-Z_a-z\\u{c0}-\\u{d6}\\u{d8}-\\u{f6}\\u{f8}-\\u{2ff}\\u{370}-\\u{37d}\\u{37f}-\\u{1fff}\\u{200c}-\\u{200d}\\u{2070}-\\u{218f}\\u{2c00}-\\u{2fef}\\u{3001}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{fffd}\\u{10000}-\\u{effff}";
const namePattern = new RegExp(`[${nameStart}][${nameStart}\\-.0-9\\u{b7}\\u{300}-\\u{36f}\\u{203f}-\\u{2040}]*`, "uy");
const spacePattern = /[ \t\r\n]*/y;
const declarationPattern =
  /<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.[0-9]+"|'1\.[0-9]+')(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"[A-Za-z][\w.-]*"|'[A-Za-z][\w.-]*'))?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*\?>/y;
const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

class XmlReader {
  readonly #text: string;
  readonly #most: number;
  readonly #open: Open[] = [];
  #root: XmlElement | undefined;
  #elements = 0;
  #at = 0;

  constructor(text: string, most: number) {
    this.#text = text;
    this.#most = most;
  }

  read(): XmlDocument {
    const text = this.#text;
    const bad = text.search(unfit);
    if (bad !== -1) this.#refuse(`${shownAt(text, bad)} cannot be in XML`, bad);
    if (/^<\?xml[ \t\r\n]/.test(text) && !this.#skip(declarationPattern))
      this.#refuse("the XML declaration is malformed");
    while (this.#at < text.length && this.#elements <= this.#most) {
      if (text[this.#at] === "<") this.#markup();
      else this.#characters();
    }
    if (!this.#root) this.#refuse("there is no element");
    const isCut = this.#elements > this.#most;
    const last = this.#open.at(-1);
    if (last && !isCut) this.#refuse(`\`</${shorten(last.name)}>\` is missing`);
    return { root: this.#root, isCut };
  }

  #markup(): void {
    const next = this.#text[this.#at + 1];
    if (next === "/") this.#endTag();
    else if (next === "?") this.#instruction();
    else if (next === "!") this.#declared();
    else this.#startTag();
  }

  #startTag(): void {
    const begin = this.#at++;
    const name = this.#name("an element's name after `<`");
    if (this.#root && this.#open.length === 0)
      this.#refuse("a document has one root element, and this is another", begin);
    if (this.#open.length > deepest) throw tooDeep(this.#text, begin);
    const element = { name, attributes: this.#attributes(), children: [] };
    this.#root ??= element;
    this.#open.at(-1)?.children.push(element);
    this.#elements++;
    if (this.#text[this.#at] !== "/") this.#open.push(element);
    else if (this.#text[++this.#at] !== ">") this.#refuse(`expected \`>\` after \`/\`, not ${this.#shown}`);
    this.#at++;
  }

  /** Those up to the `>` or `/` that ends the tag. */
  #attributes(): ReadonlyMap<string, string> {
    const attributes = new Map<string, string>();
    while (true) {
      const isApart = this.#skip(spacePattern);
      const next = this.#text[this.#at];
      if (next === ">" || next === "/") return attributes;
      if (!isApart) this.#refuse(`expected a blank, \`/>\` or \`>\`, not ${this.#shown}`);
      const begin = this.#at;
      const name = this.#name("an attribute, `/>` or `>`");
      if (attributes.has(name)) this.#refuse(`the attribute \`${shorten(name)}\` appears more than once`, begin);
      if (attributes.size === mostAttributes)
        this.#refuse(`an element has at most ${mostAttributes} attributes`, begin);
      attributes.set(name, this.#attributeValue(name));
    }
  }

  #attributeValue(name: string): string {
    this.#skip(spacePattern);
    if (this.#text[this.#at] !== "=") this.#refuse(`expected \`=\` after \`${shorten(name)}\`, not ${this.#shown}`);
    this.#at++;
    this.#skip(spacePattern);
    const quote = this.#text[this.#at];
    if (quote !== '"' && quote !== "'") this.#refuse(`expected a value in quotes, not ${this.#shown}`);
    const begin = this.#at + 1;
    const end = this.#text.indexOf(quote, begin);
    if (end === -1) this.#refuse("the quote that opens here is not closed");
    const raw = this.#text.slice(begin, end);
    const markup = raw.indexOf("<");
    if (markup !== -1) this.#refuse("an attribute must not contain `<`; write `&lt;`", begin + markup);
    this.#at = end + 1;
    return this.#resolved(raw, begin, evenInAttribute);
  }

  #endTag(): void {
    const begin = this.#at;
    this.#at += 2;
    const name = this.#name("an element's name after `</`");
    const open = this.#open.pop();
    if (!open) this.#refuse(`\`</${shorten(name)}>\` ends an element that does not begin`, begin);
    if (open.name !== name) {
      this.#refuse(`expected \`</${shorten(open.name)}>\`, not \`</${shorten(name)}>\``, begin);
    }
    this.#skip(spacePattern);
    if (this.#text[this.#at] !== ">") this.#refuse(`expected \`>\`, not ${this.#shown}`);
    this.#at++;
  }

  #instruction(): void {
    const begin = this.#at;
    this.#at += 2;
    const target = this.#name("a name after `<?`");
    if (target.toLowerCase() === "xml") this.#refuse("an XML declaration can only be the very first thing", begin);
    const end = this.#text.indexOf("?>", this.#at);
    if (end === -1) this.#refuse("the processing instruction that begins here is not closed", begin);
    if (end > this.#at && !this.#skip(spacePattern)) this.#refuse(`expected a blank or \`?>\`, not ${this.#shown}`);
    this.#at = end + 2;
  }

  #declared(): void {
    const text = this.#text;
    const begin = this.#at;
    if (text.startsWith("<!--", begin)) {
      const end = text.indexOf("--", begin + 4);
      if (end === -1) this.#refuse("the comment that begins here is not closed", begin);
      if (text[end + 2] !== ">") this.#refuse("a comment must not contain `--`", end);
      this.#at = end + 3;
    } else if (text.startsWith("<![CDATA[", begin) && this.#open.length > 0) {
      const end = text.indexOf("]]>", begin);
      if (end === -1) this.#refuse("the CDATA section that begins here is not closed", begin);
      this.#keep(evenInText(text.slice(begin + 9, end)));
      this.#at = end + 3;
    } else if (text.startsWith("<!DOCTYPE", begin)) throw new Refusal("bad-request", "a DOCTYPE is not allowed");
    else this.#refuse("this is no element, comment or CDATA section");
  }

  /** The text up to the next markup. */
  #characters(): void {
    const begin = this.#at;
    const next = this.#text.indexOf("<", begin);
    const end = next === -1 ? this.#text.length : next;
    const raw = this.#text.slice(begin, end);
    if (this.#open.length === 0) {
      const stray = raw.search(/[^ \t\r\n]/);
      if (stray !== -1) this.#refuse(`expected an element, not ${shownAt(raw, stray)}`, begin + stray);
    } else {
      const section = raw.indexOf("]]>");
      if (section !== -1) this.#refuse("text must not contain `]]>`; write `]]&gt;`", begin + section);
      this.#keep(this.#resolved(raw, begin, evenInText));
    }
    this.#at = end;
  }

  #keep(text: string): void {
    if (text !== "") this.#open.at(-1)?.children.push(text);
  }

  /**
   * `raw`, which begins at `begin`, with its references replaced (section 4.1).
   * @param even makes its line ends one (section 2.11), and in an attribute blanks (section 3.3.3)
   */
  #resolved(raw: string, begin: number, even: (text: string) => string): string {
    let resolved = "";
    let from = 0;
    for (let at = raw.indexOf("&"); at !== -1; at = raw.indexOf("&", from)) {
      const end = raw.indexOf(";", at);
      const character = end === -1 ? undefined : toCharacter(raw.slice(at + 1, end));
      if (character === undefined) {
        const shown = shorten(/^&[^\s&;]*;?/.exec(raw.slice(at, at + 41))?.[0] ?? "&");
        this.#refuse(`\`${shown}\` is no reference; write \`&\` as \`&amp;\``, begin + at);
      }
      resolved += even(raw.slice(from, at)) + character;
      from = end + 1;
    }
    return resolved + even(raw.slice(from));
  }

  #name(what: string): string {
    const begin = this.#at;
    if (!this.#skip(namePattern)) this.#refuse(`expected ${what}, not ${this.#shown}`);
    return this.#text.slice(begin, this.#at);
  }

  /** Whether anything that `pattern` matches was passed over. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text) || pattern.lastIndex === this.#at) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  get #shown(): string {
    return shownAt(this.#text, this.#at);
  }

  #refuse(detail: string, at = this.#at): never {
    throw malformed("well-formed XML", this.#text, at, detail);
  }
}

/** The character that `&reference;` stands for; undefined for none. Only the predefined entities exist without a DOCTYPE. */
function toCharacter(reference: string): string | undefined {
  if (!reference.startsWith("#")) return Object.hasOwn(entities, reference) ? entities[reference] : undefined;
  const isHexadecimal = reference[1] === "x";
  if (!(isHexadecimal ? /^#x[0-9A-Fa-f]+$/ : /^#[0-9]+$/).test(reference)) return undefined;
  const code = isHexadecimal ? Number.parseInt(reference.slice(2), 16) : Number(reference.slice(1));
  const isCharacter = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  const character = isCharacter ? String.fromCodePoint(code) : "";
  return character === "" || unfit.test(character) ? undefined : character;
}

function evenInText(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

function evenInAttribute(text: string): string {
  return text.replace(/\r\n|[\t\r\n]/g, " ");
}

function shorten(text: string): string {
  return text.slice(0, 40);
}
