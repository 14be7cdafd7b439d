// Finds where markup ends, without reading it. It is read later (xml-parser.ts), which reports its errors.

/**
 * Returns the index after the tag, comment, processing instruction or CDATA section that begins at the index `start`; undefined if it has no end. A `>`
 * in quotes does not end a start tag.
 * @param limit the index at which the search for the end of a start tag may stop
 */
export function endOfMarkup(text: string, start: number, limit = text.length): number | undefined {
  const next = text[start + 1];
  if (next === "/") return endAfter(text, ">", start);
  if (next === "?") return endAfter(text, "?>", start);
  if (text.startsWith("<!--", start)) return endAfter(text, "-->", start + 4);
  if (text.startsWith("<![CDATA[", start)) return endAfter(text, "]]>", start);
  return endOfStartTag(text, start, limit);
}

/**
 * Returns the index after the element that begins at the index `start`, or undefined if it does not end before `limit`. Counts only the tags with the
 * name `name`, so that a missing tag in the element does not hide its end.
 */
export function endOfElement(text: string, start: number, name: string, limit: number): number | undefined {
  let depth = 0;
  let at = start;
  while (at !== -1 && at < limit) {
    const end = endOfMarkup(text, at, limit);
    if (end === undefined || end > limit) return undefined;
    const isEndTag = text[at + 1] === "/";
    if (isNamed(text, isEndTag ? at + 2 : at + 1, name)) {
      if (isEndTag) depth--;
      else if (text[end - 2] !== "/") depth++;
    }
    if (depth <= 0) return end;
    at = text.indexOf("<", end);
  }
  return undefined;
}

/** Whether a tag has this name, which begins at the index `at`. */
export function isNamed(text: string, at: number, name: string): boolean {
  return text.startsWith(name, at) && /[ \t\r\n/>]/.test(text[at + name.length] ?? "");
}

function endAfter(text: string, end: string, from: number): number | undefined {
  const at = text.indexOf(end, from);
  return at === -1 ? undefined : at + end.length;
}

function endOfStartTag(text: string, start: number, limit: number): number | undefined {
  for (let at = start; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x3e) return at + 1;
    if (code !== 0x22 && code !== 0x27) continue;
    at = text.indexOf(code === 0x22 ? '"' : "'", at + 1);
    if (at === -1) return undefined;
  }
  return undefined;
}
