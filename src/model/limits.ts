// Limits shared by several parts of the program (contract sections 6, 10, 12 and 14).

/** Maximum records per list page, and changes per feed page. */
export const maxPageSize = 1000;

/** Maximum filters per request. */
export const maxFilters = 16;

/** Maximum IDs or values in a filter with `[in]`. */
export const maxFilterValues = 1000;

export const maxSortFields = 8;

/** Changes per feed page without a `limit`. */
export const defaultFeedLimit = 100;

/** Maximum changes per webhook event (contract section 12). */
export const maxChangesPerEvent = 100;

/** Maximum seconds of a long poll. Below 60, after which load balancers close idle connections. */
export const maxFeedWaitSeconds = 55;

/** How long an idempotency key is remembered. */
export const idempotencyLifetimeMs = 24 * 60 * 60 * 1000;

/** The latest time that JavaScript can represent (ECMA-262 section 21.4.1.1), in milliseconds since 1970. */
export const maxTimeMs = 8.64e15;

/** Maximum operations in a batch request (contract section 14). */
export const maxBatchOperations = 10_000;

/** Maximum body size of a batch request. */
export const maxBatchBytes = 8 << 20;
