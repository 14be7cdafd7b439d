// Limits of the query parameters of a list and of the feed (contract sections 6 and 10), of an event of a webhook, of an idempotency key, of times,
// and of a batch request.

/** Maximum records in a page of a list, and maximum changes in a page of the feed. */
export const maxPageSize = 1000;

/** Maximum filters in a request. */
export const maxFilters = 16;

/** Maximum IDs in `filter[ID][in]`. */
export const maxIds = 1000;

/** Maximum fields in `sort`. */
export const maxSortFields = 8;

/** Changes in a page of the feed if the client does not send `limit`. */
export const defaultFeedLimit = 100;

/** Maximum changes in an event of a webhook (contract section 12). */
export const maxChangesPerEvent = 100;

/** Maximum seconds of a long poll. It is below 60 because load balancers close connections that are idle for 60 seconds. */
export const maxFeedWaitSeconds = 55;

/** Lifetime of an idempotency key in milliseconds. */
export const idempotencyLifetimeMs = 24 * 60 * 60 * 1000;

/** The latest time that JavaScript can represent (ECMA-262 section 21.4.1.1), in milliseconds since 1970. */
export const maxTimeMs = 8.64e15;

/** Maximum operations of a batch request (contract section 14). */
export const maxBatchOperations = 10_000;

/** Maximum bytes of the body of a batch request. */
export const maxBatchBytes = 8 << 20;
