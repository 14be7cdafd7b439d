/** What a request asks for: the path, the query after the `?`, and the authority of an absolute target, as it was sent. */
export interface RequestTarget {
  readonly path: string;
  readonly query: string;
  readonly host?: string;
}

/** What the URL standard leaves as it is in a path with a query. */
const plain = /^\/(?!\/)[!-"$-;=?-[\]^-_a-z|~]*$/;
/**
 * A path with a segment `.` or `..`. The URL standard would resolve it, and so might a proxy, or not: what one of the two
 * takes for another path could get past the rules of the proxy.
 */
const dots = /^[^?#]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/** Of an absolute URL. It is not decoded, as that of `Host` is not: a proxy would not know the site that came of it. */
const authority = /^https?:\/\/([^/?]+)/i;

/** A path or an absolute URL without what the URL standard would read as something else: `\` as `/`, and `#` as an end. */
const readable = /^(?:\/|https?:\/\/[^/?#@\\]+(?=[/?]|$))[^\\?#]*(?:\?[^#]*)?$/i;

/**
 * Splits the target of a request (RFC 9112 section 3.2) as it was sent, one character per byte: a path, or an absolute URL. One that
 * is neither, or has a dot segment, stands for a path that does not exist.
 */
export function toTarget(sent: string): RequestTarget {
  if (dots.test(sent)) return { path: Buffer.from(sent, "latin1").toString(), query: "" };
  if (plain.test(sent)) return split(sent);
  const text = Buffer.from(sent, "latin1").toString();
  const isAbsolute = !text.startsWith("/");
  const url = readable.test(text) ? URL.parse(isAbsolute ? text : `http://unknown${text}`) : null;
  if (!url) return { path: text, query: "" };
  const target = split(url.pathname + url.search);
  return isAbsolute ? { ...target, host: authority.exec(sent)?.[1] as string } : target;
}

function split(text: string): RequestTarget {
  const mark = text.indexOf("?");
  return mark === -1 ? { path: text, query: "" } : { path: text.slice(0, mark), query: text.slice(mark + 1) };
}
