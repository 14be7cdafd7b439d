// Hides the secrets in the URL of a webhook from operators who may not change webhooks. Some receivers know a sender only by such a secret.

import type { DeliveryExchange, ExchangedMessage } from "../../model/webhooks.ts";

/** Minimum length of a part of a path that may be a secret, as in `/services/T01/B02/aB3dE5fG7hI9jK1lM3nO5pQ7`. */
const minSecretLength = 20;

/** Minimum length of a secret that is looked for in a response. A shorter one would be found in other words. */
const minRepeatedLength = 4;

/** Returns the parts of a URL by which a receiver may authenticate its sender: the values of its query, and long parts of its path. */
function secretsIn(url: string): readonly string[] {
  const { pathname, search } = new URL(url);
  const values = search
    .slice(1)
    .split("&")
    .map((pair) => pair.slice(pair.indexOf("=") + 1));
  return [...values, ...pathname.split("/").filter((part) => part.length >= minSecretLength)].filter(Boolean);
}

/** Returns the URL of a webhook with `...` in place of its secrets, for operators who may not change the webhook. */
export function withoutSecrets(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const path = pathname.split("/").map((part) => (part.length < minSecretLength ? part : "..."));
  const query = search.slice(1).split("&");
  const hidden = query.map((pair) => `${pair.slice(0, pair.indexOf("=") + 1)}...`);
  return `${origin}${path.join("/")}${search === "" ? "" : `?${hidden.join("&")}`}`;
}

/** Returns an exchange without the secrets of its URL, also where the response repeats them. */
export function withoutSecretsOf(exchange: DeliveryExchange): DeliveryExchange {
  const written = secretsIn(exchange.url).flatMap((text) => [text, decode(text)]);
  const secrets = [...new Set(written)].filter((text) => text.length >= minRepeatedLength);
  const hide = (text: string) => {
    const rest = secrets.reduce((hidden, secret) => hidden.replaceAll(secret, "..."), text);
    // A receiver may repeat a secret in any encoding, so the text is compared as it reads when decoded. There, the secret has no place to cut out.
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

/** Hides secrets in a body: in a text, also the beginning of a secret that the end of the kept part cuts off; in bytes, as text with one or two bytes a character. */
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

/** The ways in which texts contain a character by its number or as itself after a backslash: percent-encoding, JSON and JavaScript, HTML and XML. */
const escapes =
  /(?:%[0-9a-f]{2})+|\\u\{?([0-9a-f]{1,6})\}?|\\x([0-9a-f]{2})|&#x0*([0-9a-f]{1,6});?|&#0*([0-9]{1,7});?|\\([^a-z0-9])|&(amp|lt|gt|quot|apos);/gi;
const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Maximum encodings within each other that are decoded. */
const maxDecodings = 4;

/** Returns a text as it reads: decoded, and with spaces for `+`, as forms write them. */
function plain(text: string): string {
  return decode(text).replaceAll("+", " ");
}

/** Decodes a text until it has no escapes. Base64 is not decoded. */
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
