// Parses request targets (RFC 9112 section 3.2).

export interface RequestTarget {
  readonly path: string;
  /** The query after the `?`; empty if the target has none. */
  readonly query: string;
  /** The authority of an absolute URL, as sent; undefined if the target is a path. */
  readonly host?: string;
}

/** A path, perhaps with a query, in characters that the URL standard leaves alone. */
const plain = /^\/(?!\/)[!-"$-;=?-[\]^-_a-z|~]*$/;

/** The start of a segment that may be `.` or `..`. */
const dot = /\/(?:\.|%2e)/i;

/** A segment `.` or `..`, which the URL standard resolves but a proxy may not. If we read a path differently from a proxy, it could bypass the proxy's rules. */
const dots = /^[^?#]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/** The authority of an absolute URL. Like `Host`, it isn't decoded, so that a proxy and the server see the same host. */
const authority = /^https?:\/\/([^/?]+)/i;

/** A path or an absolute URL without characters that the URL standard reinterprets: `\` as `/`, and `#` as the end. */
const readable = /^(?:\/|https?:\/\/[^/?#@\\]+(?=[/?]|$))[^\\?#]*(?:\?[^#]*)?$/i;

/**
 * A target that's neither a path nor an absolute URL, or that has a dot segment, becomes a path that doesn't exist.
 * @param sent the target as sent, one character per byte
 */
export function toTarget(sent: string): RequestTarget {
  if (plain.test(sent) && !dot.test(sent)) return split(sent);
  if (dots.test(sent)) return { path: Buffer.from(sent, "latin1").toString(), query: "" };
  // We percent-encode the raw bytes. Decoding would replace those that aren't UTF-8, so query.ts couldn't reject them.
  const text = sent.replaceAll(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  const url = readable.test(text) ? URL.parse(text.startsWith("/") ? `http://unknown${text}` : text) : null;
  if (!url) return { path: Buffer.from(sent, "latin1").toString(), query: "" };
  const target = split(url.pathname + url.search);
  const [, host] = authority.exec(sent) ?? [];
  return host === undefined ? target : { ...target, host };
}

function split(text: string): RequestTarget {
  const mark = text.indexOf("?");
  return mark === -1 ? { path: text, query: "" } : { path: text.slice(0, mark), query: text.slice(mark + 1) };
}
