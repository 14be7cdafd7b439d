// A small reader of XML documents, for what the contract promises: a declaration, elements, attributes and text. No DOCTYPE, no namespaces.

export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Element[];
  /** Directly in the element, not in its children. */
  readonly text: string;
}

/** The declaration with which every document starts (contract section 5). */
export const declaration = '<?xml version="1.0" encoding="utf-8"?>';

interface OpenElement {
  readonly name: string;
  readonly attributes: Record<string, string>;
  readonly children: Element[];
  text: string;
}

/** Returns the root element. @throws if the document isn't well-formed, or has anything but elements and text after its declaration */
export function readXml(document: string): Element {
  if (!document.startsWith(declaration)) throw new Error(`the document doesn't start with ${declaration}`);
  const top: OpenElement = { name: "", attributes: {}, children: [], text: "" };
  const open = [top];
  const tokens = /<(\/?)([A-Za-z][\w.-]*)((?:\s+[\w:.-]+="[^"<]*")*)\s*(\/?)>|([^<]+)|(<)/g;
  for (const [, slash, name = "", attributes = "", empty, text, other] of document
    .slice(declaration.length)
    .matchAll(tokens)) {
    const current = open.at(-1) as OpenElement;
    if (other) throw new Error("the document has markup that is neither an element nor text");
    if (text !== undefined) current.text += toText(text);
    else if (slash) close(open, name);
    else {
      open.push({ name, attributes: readAttributes(attributes), children: [], text: "" });
      if (empty) close(open, name);
    }
  }
  const [root] = top.children;
  if (open.length > 1) throw new Error(`the element ${open.at(-1)?.name} is not closed`);
  if (!root || top.children.length > 1 || top.text.trim() !== "")
    throw new Error("the document needs exactly one root element");
  return root;
}

/** Escapes text for an element or attribute. */
export function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function close(open: OpenElement[], name: string): void {
  const element = open.pop();
  const parent = open.at(-1);
  if (!element || !parent || element.name !== name) throw new Error(`</${name}> closes ${element?.name}`);
  parent.children.push(element);
}

function readAttributes(text: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name = "", value = ""] of text.matchAll(/([\w:.-]+)="([^"]*)"/g)) {
    if (name in attributes) throw new Error(`the attribute ${name} is repeated`);
    attributes[name] = toText(value);
  }
  return attributes;
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/** Normalises line breaks (XML 1.0 section 2.11), so only a character reference can yield a CR. */
function toText(source: string): string {
  return source.replaceAll(/\r\n?/g, "\n").replaceAll(/&([^;]*);?/g, (reference, name: string) => {
    const code = /^#(?:x([0-9a-f]+)|(\d+))$/i.exec(name);
    if (code) return String.fromCodePoint(code[1] ? Number.parseInt(code[1], 16) : Number(code[2]));
    const text = entities[name];
    if (text === undefined) throw new Error(`undefined reference ${reference}`);
    return text;
  });
}
