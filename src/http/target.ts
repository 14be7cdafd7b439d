/** A request target: its path, the query after the `?`, and the authority of an absolute target, as it was sent. */
export interface RequestTarget {
  readonly path: string;
  readonly query: string;
  readonly host?: string;
}

/** A path with a query that the URL standard does not change. */
const plain = /^\/(?!\/)[!-"$-;=?-[\]^-_a-z|~]*$/;
/** What a segment `.` or `..` begins with. */
const dot = /\/(?:\.|%2e)/i;
/**
 * A path with a segment `.` or `..`. The URL standard resolves it; a proxy may or may not. A path that the two read differently could
 * bypass the rules of the proxy.
 */
const dots = /^[^?#]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/** The authority of an absolute URL. It is not decoded, as `Host` is not, so that a proxy and the server see the same host. */
const authority = /^https?:\/\/([^/?]+)/i;

/** A path or an absolute URL without characters that the URL standard reinterprets: `\` as `/`, and `#` as the end. */
const readable = /^(?:\/|https?:\/\/[^/?#@\\]+(?=[/?]|$))[^\\?#]*(?:\?[^#]*)?$/i;

/**
 * Splits a request target (RFC 9112 section 3.2). One that is neither a path nor an absolute URL, or has a dot segment, becomes a path
 * that does not exist.
 * @param sent one character per byte
 */
export function toTarget(sent: string): RequestTarget {
  if (plain.test(sent) && !dot.test(sent)) return split(sent);
  if (dots.test(sent)) return { path: Buffer.from(sent, "latin1").toString(), query: "" };
  const text = Buffer.from(sent, "latin1").toString();
  const url = readable.test(text) ? URL.parse(text.startsWith("/") ? `http://unknown${text}` : text) : null;
  if (!url) return { path: text, query: "" };
  const target = split(url.pathname + url.search);
  const [, host] = authority.exec(sent) ?? [];
  return host === undefined ? target : { ...target, host };
}

function split(text: string): RequestTarget {
  const mark = text.indexOf("?");
  return mark === -1 ? { path: text, query: "" } : { path: text.slice(0, mark), query: text.slice(mark + 1) };
}
