// Parses XML whose text arrives in chunks, so that documents can have any size.

import { positionOf } from "./syntax-errors.ts";
import { XmlReader } from "./xml-parser.ts";

/** Before each call of `token`, check that it's complete. */
export class XmlChunkReader extends XmlReader {
  /** Adds a chunk, and discards the text before the index `start`. */
  protected addChunk(chunk: string, start: number): void {
    this.from = positionOf(this.text, start, this.from);
    this.text = this.text.slice(start) + chunk;
    this.at -= start;
  }

  /** Whether nothing has been read yet, so an XML declaration may follow. */
  protected get isAtStart(): boolean {
    return this.at === 0 && this.from.line === 1 && this.from.column === 1;
  }

  /** Whether the tag, comment, instruction, CDATA section or text that begins at the index `at` is complete. */
  protected isTokenComplete(): boolean {
    const { text, at } = this;
    if (text[at] !== "<") return text.includes("<", at);
    if (text.startsWith("<!", at) && !/^<!(?:--|\[CDATA\[)/.test(text.slice(at, at + 9)))
      return text.length - at >= "<!DOCTYPE".length;
    return endOfMarkup(text, at) !== undefined;
  }
}

/**
 * Returns the index after the tag, comment, processing instruction or CDATA section that begins at the index `start`; undefined if it has no end. A `>`
 * in quotes doesn't end a start tag.
 */
function endOfMarkup(text: string, start: number): number | undefined {
  const next = text[start + 1];
  if (next === "/") return endAfter(text, ">", start);
  if (next === "?") return endAfter(text, "?>", start);
  if (text.startsWith("<!--", start)) return endAfter(text, "-->", start + 4);
  if (text.startsWith("<![CDATA[", start)) return endAfter(text, "]]>", start);
  return endOfStartTag(text, start);
}

function endAfter(text: string, end: string, from: number): number | undefined {
  const at = text.indexOf(end, from);
  return at === -1 ? undefined : at + end.length;
}

function endOfStartTag(text: string, start: number): number | undefined {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x3e) return at + 1;
    if (code !== 0x22 && code !== 0x27) continue;
    at = text.indexOf(code === 0x22 ? '"' : "'", at + 1);
    if (at === -1) return undefined;
  }
  return undefined;
}
