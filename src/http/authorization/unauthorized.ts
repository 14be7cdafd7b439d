// The 401 for a request without a valid key (contract section 1). It says what the client did wrong, as far as that shows in the request itself. A
// well-formed key may be unknown, revoked or expired; the client isn't told which.
//
// This runs for clients without a key, so its work is limited, whatever they send. Messages never repeat a secret, only the part of a key that may be shown.

import { isKey, keyLength, visiblePrefix } from "../../model/api-key.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Site } from "../../system/system-records.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import type { RequestContext } from "../request-context.ts";
import { bearerToken } from "./sent-key.ts";

/** How much we search for a key: characters of a value, characters of a query, and number of headers. */
const maxChars = 500;
const maxQueryChars = 2000;
const maxFields = 100;

/** @param site the host's site */
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
  // If it doesn't contain a key, `Authorization` may be meant for a proxy.
  const elsewhere = authorization?.includes("sfk_") ? undefined : keyElsewhere(headers, target.query);
  if (elsewhere !== undefined) return elsewhere;
  if (authorization !== null) return `${misplaced("in Authorization")}${withoutScheme(authorization)}`;
  return "the request has no X-API-AUTH header; send your API key (`sfk_...`) in it";
}

/** `mistakeOf` for endpoints that also accept a bearer token. */
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

/** What to do about the scheme in `Authorization`; empty unless it's one of the usual ones. */
function withoutScheme(authorization: string): string {
  const [scheme = ""] = /^(?:bearer|token|apikey)(?= )/i.exec(authorization) ?? [];
  if (scheme !== "") return `; send it alone, without \`${scheme}\``;
  return /^basic /i.test(authorization) ? "; send it as it is, not as a user name or password" : "";
}

/** Names of headers and parameters in which other interfaces expect a key. */
const keyName = /^(?:x[-_]?)?(?:api[-_]?)?(?:(?:auth|access|secret)[-_]?)?(?:key|token|auth|authorization)$/i;

/** Finds a key in the query or another header. `Referer` doesn't count, since it has the URL of an earlier request. */
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

/** @param sent what was sent as a key @param header where it was sent */
function mistakeIn(sent: string, header: string): string {
  if (sent === "") return `${header} is empty; send your API key (\`sfk_...\`) in it`;
  if (isKey(sent))
    return `the API key in ${header} isn't valid: it's unknown, revoked or expired; ask the site's operator for a valid one`;
  // This is how the values of a repeated header are joined. No key has a comma.
  if (sent.includes(", "))
    return `${header} was sent more than once, or has a comma; send it once, with your API key alone`;
  const text = Buffer.from(sent.slice(0, maxChars), "latin1").toString();
  const bare = text.replace(/[^0-9A-Za-z_]/g, "");
  const [core, mark, rest = ""] = /(sfk_(?:test_)?)([0-9A-Za-z]*)/i.exec(text) ?? [];
  if (core === undefined || mark === undefined) {
    const isEnd =
      /^[a-z_]*[0-9A-Za-z]{42}$/.test(bare) && ["sfk_", "sfk_test_"].some((one) => isKey(one + bare.slice(-keyLength)));
    return isEnd
      ? `the API key in ${header} is missing its start: keys start with \`sfk_\`, or \`sfk_test_\` for a sandbox; copy it again`
      : `${header} isn't an API key: keys start with \`sfk_\`, or \`sfk_test_\` for a sandbox`;
  }
  const whole = mark + rest.slice(0, keyLength);
  if (isKey(whole)) {
    const start = text.indexOf(whole);
    const without = withoutAround(text.slice(0, start), text.slice(start + whole.length));
    return `${header} contains more than the API key; send ${visiblePrefix(whole)}... alone, ${without}`;
  }
  if (isKey(bare))
    return `the API key in ${header} contains other characters; send ${visiblePrefix(bare)}... without them`;
  if (mark !== mark.toLowerCase())
    return `the API key in ${header} starts with \`${mark}\`, but keys are case-sensitive; copy it again`;
  if (rest.length < keyLength)
    return `the API key in ${header} is cut off: only ${rest.length} of the ${keyLength} characters after \`${mark}\` are there; copy the whole key`;
  if (rest.length > keyLength)
    return `the API key in ${header} is too long: it has ${rest.length} characters after \`${mark}\`, not ${keyLength}; copy it again`;
  return `the API key in ${header} has a typo: its checksum is wrong; copy it again`;
}

/** What to leave out before and after a key. Shown only if it can't be a secret. */
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
