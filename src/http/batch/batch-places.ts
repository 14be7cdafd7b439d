// Limits the batch requests that a process receives and stores at once, because each may have a body of 8 MiB and a response of about 4 MB.
//
// A batch request has a place from the wait for its body until its response. One key gets at most half of the places, and the keys of one site leave one
// place to other sites, so that no client and no site can take all by sending slowly. A place is released whatever ends its request, also if the client
// disconnects or the server stops: then the body of the request fails.

import { ProblemError } from "../../model/errors.ts";
import { maxBatchBytes } from "../../model/limits.ts";
import type { ApiKey } from "../../system/system-records.ts";
import type { WireRequest } from "../../wire/request.ts";
import type { BodyBytes } from "../../wire/request-body.ts";

/** Maximum seconds in which a batch request must arrive. */
const maxBodySeconds = 120;

/** Maximum places of a process, of a site and of a key. */
const maxPlaces = { process: 4, site: 3, key: 2 };

/** Seconds after which a client may ask for a place again. */
const retryAfterSeconds = 1;

/** The places for batch requests of a process. */
export class BatchPlaces {
  /** The number of places that are taken: of the process, and of each site and key that has a place. At most nine entries. */
  readonly #counts = new Map<string, number>();

  /**
   * Takes a place for a request of a key, calls `use`, and releases the place. Returns the result of `use`.
   * @param use receives the body (`readBatchBody`), stores the batch and makes the response
   * @throws ProblemError `too-many-requests` if all places of the process, of the site or of the key are taken; the errors of `use`
   */
  async withPlace<T>({ id, siteId, prefix }: ApiKey, use: () => Promise<T>): Promise<T> {
    const holders = ["process", `site ${siteId}`, `key ${id}`];
    const [ofProcess = 0, ofSite = 0, ofKey = 0] = holders.map((holder) => this.#counts.get(holder));
    if (ofKey >= maxPlaces.key) throw noPlaceError(`${ofKey} batches with the API key ${prefix}...`);
    if (ofSite >= maxPlaces.site) throw noPlaceError(`${ofSite} batches of this site`);
    if (ofProcess >= maxPlaces.process) throw noPlaceError(`${ofProcess} batches`);
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

function noPlaceError(which: string): ProblemError {
  return new ProblemError("too-many-requests", `${which} are being received or stored here; try again`, {
    retryAfterSeconds,
  });
}

/**
 * Returns the whole body of a batch request, which may be longer than other bodies. To be called in `withPlace`.
 * @throws RequestError `body-too-large` above 8 MiB; `timeout` if the request does not arrive in 120 s; `malformed`, also when the client disconnects
 */
export function readBatchBody(request: WireRequest): Promise<BodyBytes> {
  return request.readBody(maxBatchBytes, maxBodySeconds);
}
