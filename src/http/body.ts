import { Refusal } from "../model/errors.ts";

/** Most bytes of a request body. */
export const longestBody = 1024 * 1024;

/**
 * The request's body.
 * @throws Refusal `too-large`; `unsupported-media-type` for a charset or content coding that is not read here;
 *   `bad-request` when the client went away in the middle
 */
export async function readBody(request: Request): Promise<Uint8Array> {
  refuseOtherEncodings(request.headers);
  const length = request.headers.get("Content-Length");
  if (length !== null && Number(length) > longestBody) throw tooLarge();
  try {
    return length === null ? await readChunks(request) : await request.bytes();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("bad-request", "the body ended before it was complete", { cause: error });
  }
}

/** A body that does not say how long it is, counted as it comes. */
async function readChunks(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > longestBody) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function refuseOtherEncodings(headers: Headers): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers.get("Content-Type") ?? "")?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new Refusal("unsupported-media-type", `the charset \`${charset.slice(0, 40)}\` is not supported; send UTF-8`);
  }
  const coding = headers.get("Content-Encoding");
  if (coding !== null && coding.trim().toLowerCase() !== "identity") {
    throw new Refusal(
      "unsupported-media-type",
      `the content coding \`${coding.slice(0, 40)}\` is not supported; send the body as it is`,
    );
  }
}

/** The connection stays open, and what still comes is dropped: a client that is cut off while it sends sees no answer. */
function tooLarge(): Refusal {
  return new Refusal("too-large", `the body has more than ${longestBody} bytes`);
}
