// Limits how many batches a process receives and stores at once, because each may have a body of 8 MiB and a response of about 4 MB.
//
// A batch has a place from before its body arrives until its response is made. One key gets at most half of the places, and a site's keys always leave one
// to other sites, so nobody can take them all by sending slowly. However a request ends, its place is released: if the client disconnects or the server
// stops, reading the body fails.

import { ProblemError } from "../../model/errors.ts";
import { maxBatchBytes } from "../../model/limits.ts";
import type { ApiKey } from "../../system/system-records.ts";
import type { WireRequest } from "../../wire/request.ts";
import type { BodyBytes } from "../../wire/request-body.ts";

/** How long a batch may take to arrive. */
const maxBodySeconds = 120;

const maxPlaces = { process: 4, site: 3, key: 2 };

const retryAfterSeconds = 1;
export class BatchPlaces {
  /** How many places are taken by the process, and by each site and key that has any. At most nine entries. */
  readonly #counts = new Map<string, number>();

  /**
   * Runs `use` with a place, and returns its result.
   * @param use reads the body (`readBatchBody`), stores the batch and makes the response
   * @throws ProblemError `too-many-requests` if the process, the site or the key has no place left; the errors of `use`
   */
  async withPlace<T>({ id, siteId, prefix }: ApiKey, use: () => Promise<T>): Promise<T> {
    const holders = ["process", `site ${siteId}`, `key ${id}`];
    const [ofProcess = 0, ofSite = 0, ofKey = 0] = holders.map((holder) => this.#counts.get(holder));
    if (ofKey >= maxPlaces.key) throw noPlaceError(`the API key ${prefix}...`, ofKey);
    if (ofSite >= maxPlaces.site) throw noPlaceError("this site", ofSite);
    if (ofProcess >= maxPlaces.process) throw noPlaceError("this server", ofProcess);
    for (const holder of holders) this.#count(holder, 1);
    try {
      return await use();
    } finally {
      for (const holder of holders) this.#count(holder, -1);
    }
  }

  #count(holder: string, difference: 1 | -1): void {
    const count = (this.#counts.get(holder) ?? 0) + difference;
    if (count > 0) this.#counts.set(holder, count);
    else this.#counts.delete(holder);
  }
}

function noPlaceError(holder: string, count: number): ProblemError {
  const detail = `${holder} already has ${count} batches in progress; try again when one is done`;
  return new ProblemError("too-many-requests", detail, { retryAfterSeconds });
}

/**
 * Reads the body of a batch, which may be longer than other bodies. Only call this in `withPlace`.
 * @throws RequestError `body-too-large` above 8 MiB; `timeout` if it doesn't arrive within 120 s; `malformed`, including when the client disconnects
 */
export function readBatchBody(request: WireRequest): Promise<BodyBytes> {
  return request.readBody(maxBatchBytes, maxBodySeconds);
}
