// Hides the secrets in the URL of a webhook from operators who may not change webhooks. Some receivers know a sender only by such a secret.

import type { DeliveryExchange } from "../../model/webhooks.ts";

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
  const written = secretsIn(exchange.url).flatMap((text) => [text, tryDecode(text)]);
  const secrets = [...new Set(written)].filter((text) => text.length >= minRepeatedLength);
  const hide = (text: string) => secrets.reduce((rest, secret) => rest.replaceAll(secret, "..."), text);
  const { response } = exchange;
  return {
    ...exchange,
    url: withoutSecrets(exchange.url),
    response: response && {
      ...response,
      headers: response.headers.map(([name, value]) => [name, hide(value)]),
      body: response.isText ? hide(response.body) : response.body,
    },
  };
}

function tryDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
