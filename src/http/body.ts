import { Refusal } from "../model/errors.ts";
import type { Maybe } from "../model/maybe.ts";
import type { Fields } from "../wire/fields.ts";
import type { WireRequest } from "../wire/request.ts";

/** Most bytes of a request body. */
export const longestBody = 1024 * 1024;

/**
 * The request's body.
 * @throws Refusal `too-large`; `unsupported-media-type` for a charset or content coding that is not read here;
 *   `bad-request` when the client went away in the middle
 */
export function readBody(request: WireRequest): Maybe<Uint8Array> {
  refuseOtherEncodings(request.fields);
  return request.body();
}

function refuseOtherEncodings(fields: Fields): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(fields.get("content-type") ?? "")?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new Refusal("unsupported-media-type", `the charset \`${charset.slice(0, 40)}\` is not supported; send UTF-8`);
  }
  const coding = fields.get("content-encoding");
  if (coding !== null && coding.trim().toLowerCase() !== "identity") {
    throw new Refusal(
      "unsupported-media-type",
      `the content coding \`${coding.slice(0, 40)}\` is not supported; send the body as it is`,
    );
  }
}
