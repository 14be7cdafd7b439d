// Hides secrets in webhook URLs from operators who can't change webhooks. For some receivers, the URL's secret is all that authenticates a sender.

import type { DeliveryExchange, ExchangedMessage } from "../../model/webhooks.ts";

/** Path segments of this length may be secrets, as in `/services/T01/B02/aB3dE5fG7hI9jK1lM3nO5pQ7`. */
const minSecretLength = 20;

/** Shorter secrets aren't looked for in responses, because they'd be found inside other words. */
const minRepeatedLength = 4;

/** What a receiver may authenticate its sender by: query values and long path segments. */
function secretsIn(url: string): readonly string[] {
  const { pathname, search } = new URL(url);
  const values = search
    .slice(1)
    .split("&")
    .map((pair) => pair.slice(pair.indexOf("=") + 1));
  return [...values, ...pathname.split("/").filter((part) => part.length >= minSecretLength)].filter(Boolean);
}

/** Replaces secrets with `...`. */
export function withoutSecrets(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const path = pathname.split("/").map((part) => (part.length < minSecretLength ? part : "..."));
  const query = search.slice(1).split("&");
  const hidden = query.map((pair) => `${pair.slice(0, pair.indexOf("=") + 1)}...`);
  return `${origin}${path.join("/")}${search === "" ? "" : `?${hidden.join("&")}`}`;
}

/** Also hides the URL's secrets where the response repeats them. */
export function withoutSecretsOf(exchange: DeliveryExchange): DeliveryExchange {
  const written = secretsIn(exchange.url).flatMap((text) => [text, decode(text)]);
  const secrets = [...new Set(written)].filter((text) => text.length >= minRepeatedLength);
  const hide = (text: string) => {
    const rest = secrets.reduce((hidden, secret) => hidden.replaceAll(secret, "..."), text);
    // A receiver may repeat a secret in any encoding. If we only find it in the decoded text, we can't tell where it was, so we hide everything.
    const read = plain(rest);
    return secrets.some((secret) => read.includes(plain(secret))) ? "..." : rest;
  };
  const { response } = exchange;
  return {
    ...exchange,
    url: withoutSecrets(exchange.url),
    response: response && {
      ...response,
      headers: response.headers.map(([name, value]) => [name, hide(value)]),
      body: hideInBody(response, secrets, hide),
    },
  };
}

/** In text, also hides the start of a secret that's cut off at the end of what we keep. Bytes are searched as text with one or two bytes per character. */
function hideInBody(
  { body, isText }: ExchangedMessage,
  secrets: readonly string[],
  hide: (text: string) => string,
): string {
  if (!isText) {
    const text = Buffer.from(body, "hex").toString("latin1").replaceAll("\0", "");
    return hide(text) === text ? body : "...";
  }
  const rest = hide(body);
  const cut = secrets.flatMap((secret) =>
    Array.from({ length: secret.length }, (_, length) => secret.slice(0, length)),
  );
  const end = cut
    .filter((start) => start.length >= minRepeatedLength && rest.endsWith(start))
    .sort((a, b) => b.length - a.length)[0];
  return end === undefined ? rest : `${rest.slice(0, -end.length)}...`;
}

/** Escapes in URLs, JSON, JavaScript, HTML and XML. */
const escapes =
  /(?:%[0-9a-f]{2})+|\\u\{?([0-9a-f]{1,6})\}?|\\x([0-9a-f]{2})|&#x0*([0-9a-f]{1,6});?|&#0*([0-9]{1,7});?|\\([^a-z0-9])|&(amp|lt|gt|quot|apos);/gi;
const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** How many layers of encoding we undo. */
const maxDecodings = 4;

/** Decoded, with spaces for `+` as in forms. */
function plain(text: string): string {
  return decode(text).replaceAll("+", " ");
}

/** Decodes until there are no escapes left. Doesn't decode base64. */
function decode(text: string): string {
  let decoded = text;
  for (let round = 0; round < maxDecodings; round++) {
    const before = decoded;
    decoded = before.replace(escapes, (all, unicode, hex, xml, decimal, character, name) => {
      if (all.startsWith("%")) return Buffer.from(all.replaceAll("%", ""), "hex").toString();
      if (character) return character;
      if (name) return named[name.toLowerCase()] as string;
      const code = decimal ? Number(decimal) : Number.parseInt(unicode ?? hex ?? xml, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : all;
    });
    if (decoded === before) break;
  }
  return decoded;
}
