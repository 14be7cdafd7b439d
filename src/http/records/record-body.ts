// Checks a write's body for its encoding, then parses and validates the record in it.

import type { Format } from "../../formats/format.ts";
import { guessForm } from "../../formats/other-forms.ts";
import { isUtf8Name } from "../../formats/text-encoding.ts";
import { isCanonicalRecord, matchCanonicalChanges, type SentChanges } from "../../model/canonical-json.ts";
import { storedEncoding } from "../../model/encoding.ts";
import { ProblemError } from "../../model/errors.ts";
import { methodAdvice } from "../../model/parameters.ts";
import { parseNewRecord, parseRecordChanges } from "../../model/record.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import type { BodyBytes } from "../../wire/request-body.ts";
import { contentCodings, isGzip } from "../../wire/request-header.ts";
import type { RequestContext, ResourceRoute } from "../request-context.ts";

/**
 * Returns the new record's values as JSON.
 * @throws ProblemError `bad-request`, `unsupported-media-type` or `invalid-record`. If the body looks like another format, the message says so
 */
export function parseNewBody(context: RequestContext, route: ResourceRoute, body: BodyBytes): string {
  const { resource, format } = route;
  return withFormatHint(context, route, body, () => {
    const json = storedTextIn(format, body);
    if (json !== undefined && isCanonicalRecord(resource, json)) return json;
    const { input, fieldErrors } = format.decode(resource, body.view);
    return JSON.stringify(parseNewRecord(resource, input, fieldErrors));
  });
}

/** @throws ProblemError as `parseNewBody` does */
export function parseChangesBody(context: RequestContext, route: ResourceRoute, body: BodyBytes): SentChanges {
  const { resource, format } = route;
  return withFormatHint(context, route, body, () => {
    const json = storedTextIn(format, body);
    const canonicalChanges = json === undefined ? undefined : matchCanonicalChanges(resource, json);
    if (canonicalChanges) return canonicalChanges;
    const { input, fieldErrors } = format.decode(resource, body.view);
    const { id, values } = parseRecordChanges(resource, input, fieldErrors);
    return { id, valuesJson: JSON.stringify(values) };
  });
}

/** Longer bodies aren't tried as canonical JSON, which needs no parsing. */
const maxCanonicalBytes = 16 * 1024;

/** Returns the body if it may be canonical JSON. */
function storedTextIn({ name }: Format, body: BodyBytes): string | undefined {
  return name === storedEncoding.name && body.length <= maxCanonicalBytes ? body.text : undefined;
}

function withFormatHint<T>({ target }: RequestContext, route: ResourceRoute, body: BodyBytes, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== "bad-request") throw error;
    const { message, fieldErrors } = error;
    throw new ProblemError("bad-request", message + formatHint(target.path, route, body.view), { fieldErrors });
  }
}

function formatHint(path: string, { resource, format }: ResourceRoute, body: Uint8Array): string {
  const start = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, 500)).toString();
  const sent = guessForm(start)?.format;
  const wanted = format.name.toUpperCase();
  if (sent === undefined || sent === format.name) return "";
  if (sent !== "form") {
    const other = `${path.slice(0, path.lastIndexOf("."))}.${sent}`;
    return `. This path accepts ${wanted}; send ${sent.toUpperCase()} to \`${other}\``;
  }
  const { path: name = "Name", field } = resource.textFields.find((textField) => textField.field.required) ?? {};
  const value = field?.example ?? "";
  const { element } = resource;
  const example =
    format.name === "xml" ? `<${element}><${name}>${value}</${name}></${element}>` : JSON.stringify({ [name]: value });
  const override = /(?:^|&)_method=/.test(start) ? `; ${methodAdvice}` : "";
  return `. Send ${wanted}, such as \`${example}\`${override}`;
}

/** @throws ProblemError `unsupported-media-type` for a body that isn't UTF-8, or has another content coding than gzip */
export function rejectOtherEncodings(headers: HeaderFields): void {
  const charset = /;\s*charset\s*=\s*["']?([^"',;\s]+)/i.exec(headers.get("content-type") ?? "")?.[1];
  if (charset !== undefined && !isUtf8Name(charset)) {
    throw new ProblemError(
      "unsupported-media-type",
      `the charset \`${charset.slice(0, 40)}\` isn't supported; send UTF-8`,
    );
  }
  const codings = contentCodings(headers);
  if (codings.length === 0 || isGzip(codings)) return;
  const sent = codings.join(", ").slice(0, 40);
  throw new ProblemError(
    "unsupported-media-type",
    `\`Content-Encoding: ${sent}\` isn't supported; send the body uncompressed, or compress it with gzip`,
    // RFC 9110 section 15.5.16
    { headers: { "Accept-Encoding": "gzip" } },
  );
}
