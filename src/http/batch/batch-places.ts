// Limits the batch requests that a process receives and stores at once, because each may have a body of 8 MiB and a response of about 4 MB.
//
// A batch request has a place from the wait for its body until its response. One key gets at most half of the places, so that clients of one key
// cannot take all by sending slowly. A place is released whatever ends its request, also if the client disconnects or the server stops: then the
// body of the request fails.

import { ProblemError } from "../../model/errors.ts";
import { maxBatchBytes } from "../../model/limits.ts";
import type { ApiKey } from "../../system/system-records.ts";
import type { WireRequest } from "../../wire/request.ts";
import type { BodyBytes } from "../../wire/request-body.ts";

/** Maximum seconds in which a batch request must arrive. */
const maxBodySeconds = 120;

/** Maximum places of a process, and of one key. */
const maxPlaces = 4;
const maxPlacesOfKey = 2;

/** Seconds after which a client may ask for a place again. */
const retryAfterSeconds = 1;

/** The places for batch requests of a process. */
export class BatchPlaces {
  /** The number of places of each key, by its ID; at most four entries. */
  readonly #counts = new Map<number, number>();
  #size = 0;

  /**
   * Takes a place for a request of a key, calls `use`, and releases the place. Returns the result of `use`.
   * @param use receives the body (`readBatchBody`), stores the batch and makes the response
   * @throws ProblemError `too-many-requests` if all places of the process or of the key are taken; the errors of `use`
   */
  async withPlace<T>({ id, prefix }: ApiKey, use: () => Promise<T>): Promise<T> {
    const count = this.#counts.get(id) ?? 0;
    if (count >= maxPlacesOfKey) throw noPlaceError(`${count} batches with the API key ${prefix}...`);
    if (this.#size >= maxPlaces) throw noPlaceError(`${this.#size} batches`);
    this.#counts.set(id, count + 1);
    this.#size++;
    try {
      return await use();
    } finally {
      this.#release(id);
    }
  }

  #release(key: number): void {
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
    this.#size--;
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
