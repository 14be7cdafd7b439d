// The 401 of a request without a valid key (contract section 1). It says which mistake the client made, as far as the request itself shows it. A key that
// is complete and correctly spelled is unknown, revoked or expired: the client isn't told which of these.
//
// This runs for clients without a key, so its work is limited, whatever they send. No message repeats a secret: only the part of a key that may be shown.

import { isKey, keyLength, visiblePrefix } from "../../model/api-key.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Site } from "../../system/system-records.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import type { RequestContext } from "../request-context.ts";
import { bearerToken } from "./sent-key.ts";

/** Maximum characters of a value, characters of a query, and header fields in which a key is looked for. */
const maxChars = 500;
const maxQueryChars = 2000;
const maxFields = 100;

/** Returns the error of a request whose key is missing or invalid. @param site the site of the host */
export function unauthorizedError(context: RequestContext, site: Site): ProblemError {
  const challenge = `ApiKey realm="${site.name}", header="X-API-AUTH"`;
  const isBearer = context.route?.acceptsBearer ?? false;
  return new ProblemError("unauthorized", isBearer ? mistakeWithBearer(context) : mistakeOf(context), {
    headers: { "WWW-Authenticate": isBearer ? `${challenge}, Bearer realm="${site.name}"` : challenge },
  });
}

function mistakeOf({ request: { headers }, target }: RequestContext): string {
  const sent = headers.get("x-api-auth");
  if (sent !== null) return mistakeIn(sent, "X-API-AUTH");
  const authorization = headers.get("authorization");
  // Without a key, `Authorization` may be meant for a proxy.
  const elsewhere = authorization?.includes("sfk_") ? undefined : keyElsewhere(headers, target.query);
  if (elsewhere !== undefined) return elsewhere;
  if (authorization !== null) return `${misplaced("in Authorization")}${withoutScheme(authorization)}`;
  return "the request has no X-API-AUTH header; send your API key (`sfk_...`) in it";
}

/** As `mistakeOf`, for an endpoint that also accepts the key as a bearer token. */
function mistakeWithBearer({ request: { headers }, target }: RequestContext): string {
  const sent = headers.get("x-api-auth");
  const authorization = headers.get("authorization");
  const token = bearerToken(headers);
  if (sent !== null && token !== null && sent !== token)
    return "X-API-AUTH and Authorization have different keys; send your API key in only one of them";
  if (sent !== null) return mistakeIn(sent, "X-API-AUTH");
  if (token !== null) return mistakeIn(token, "the bearer token");
  if (authorization !== null)
    return "Authorization must be `Bearer` and one API key, as in `Bearer sfk_...`; or send the key alone in X-API-AUTH";
  return (
    keyElsewhere(headers, target.query) ??
    "the request has no API key; send it as `Authorization: Bearer sfk_...`, or alone in X-API-AUTH"
  );
}

function misplaced(where: string): string {
  return `send your API key in the header X-API-AUTH, not ${where}`;
}

/** Advice about the scheme before the credentials in `Authorization`; nothing if there is no usual one. */
function withoutScheme(authorization: string): string {
  const [scheme = ""] = /^(?:bearer|token|apikey)(?= )/i.exec(authorization) ?? [];
  if (scheme !== "") return `; send it alone, without \`${scheme}\``;
  return /^basic /i.test(authorization) ? "; send it as it is, not as a user name or password" : "";
}

/** Names of header fields and parameters in which other interfaces expect a key. */
const keyName = /^(?:x[-_]?)?(?:api[-_]?)?(?:(?:auth|access|secret)[-_]?)?(?:key|token|auth|authorization)$/i;

/** Says where a key seems to be, if it's in the query or in another header field. `Referer` doesn't count: it has the URL of an earlier request. */
function keyElsewhere(headers: HeaderFields, query: string): string | undefined {
  for (const parameter of query.slice(0, maxQueryChars).split("&", maxFields)) {
    const [name = ""] = parameter.split("=", 1);
    if (!keyName.test(name) && !/sfk(?:_|%5f)/i.test(parameter)) continue;
    const shown = /^[\w-]{1,40}$/.test(name) ? ` (\`${name}\`)` : "";
    return `${misplaced(`in the query${shown}`)}: URLs end up in logs`;
  }
  const isKeyField = (name: string, value: string) =>
    name !== "referer" && name !== "authorization" && (keyName.test(name) || value.includes("sfk_"));
  const field = headers.findName(isKeyField, maxFields);
  return field === undefined ? undefined : misplaced(`in ${field.slice(0, 40)}`);
}

/** Says what is wrong with the value that was sent as a key. @param header where it was sent */
function mistakeIn(sent: string, header: string): string {
  if (sent === "") return `${header} is empty; send your API key (\`sfk_...\`) in it`;
  if (isKey(sent))
    return `the API key in ${header} isn't valid: it's unknown, revoked or expired; ask the shop's operator for a valid one`;
  // A header field that is repeated has its values joined in this way. No key has a comma.
  if (sent.includes(", "))
    return `${header} was sent more than once, or has a comma; send it once, with your API key alone`;
  const text = Buffer.from(sent.slice(0, maxChars), "latin1").toString();
  const bare = text.replace(/[^0-9A-Za-z_]/g, "");
  const [core, mark, rest = ""] = /(sfk_(?:test_)?)([0-9A-Za-z]*)/i.exec(text) ?? [];
  if (core === undefined || mark === undefined) {
    const isEnd =
      /^[a-z_]*[0-9A-Za-z]{42}$/.test(bare) && ["sfk_", "sfk_test_"].some((one) => isKey(one + bare.slice(-keyLength)));
    return isEnd
      ? `the API key in ${header} has lost its beginning: a key begins with \`sfk_\`, or \`sfk_test_\` for a sandbox; copy it again`
      : `${header} has no API key: a key begins with \`sfk_\`, or \`sfk_test_\` for a sandbox`;
  }
  const whole = mark + rest.slice(0, keyLength);
  if (isKey(whole)) {
    const start = text.indexOf(whole);
    const without = withoutAround(text.slice(0, start), text.slice(start + whole.length));
    return `${header} has more than the API key; send ${visiblePrefix(whole)}... alone, ${without}`;
  }
  if (isKey(bare))
    return `the API key in ${header} has other characters in between; send ${visiblePrefix(bare)}... without them`;
  if (mark !== mark.toLowerCase())
    return `the API key in ${header} begins with \`${mark}\`; upper and lower case count, so copy it again`;
  if (rest.length < keyLength)
    return `the API key in ${header} is cut off: it has only ${rest.length} of the ${keyLength} characters after \`${mark}\`; copy the whole key`;
  if (rest.length > keyLength)
    return `the API key in ${header} is too long: it has ${rest.length} characters after \`${mark}\`, not ${keyLength}; copy it again`;
  return `the API key in ${header} has a typing error, because its checksum is wrong; copy it again`;
}

/** Says what to leave out before and after a key. Only what cannot be a secret is shown. */
function withoutAround(before: string, after: string): string {
  if (/^["'`“”‘’]*$/.test(before + after)) return "without quotes";
  const parts = [before && `${shownAround(before)} before it`, after && `${shownAround(after)} after it`];
  return `without ${parts.filter(Boolean).join(" and ")}`;
}

function shownAround(text: string): string {
  if (/^[ -/:-@[-`{-~]{0,3}(?:bearer|basic|token|apikey|key|x-api-auth)?[ -/:-@[-`{-~]{0,3}$/i.test(text))
    return `\`${text}\``;
  return text.length === 1 ? "the character" : `the ${text.length} characters`;
}
