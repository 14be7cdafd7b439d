// Bounds of the query parameters of a list and of the feed (contract sections 6 and 10).

/** Records in a page, or changes in one of the feed. */
export const maxPageSize = 1000;

/** Filters in a request. */
export const maxFilters = 16;

/** IDs in `filter[ID][in]`. */
export const maxIds = 1000;

/** Fields in `sort`. */
export const maxSortFields = 8;

/** Changes in a page of the feed, unless the client asks for another number. */
export const defaultFeedLimit = 100;

/** Seconds that a client may wait for a change: load balancers close connections that are idle for 60. */
export const maxFeedWait = 55;

/** The ID of the site whose records are the sites, keys and webhooks. */
export const systemSite = 0;

/** The name of the resource whose records are the sites: the ID of a record is that of its site. */
export const siteResourceName = "site";

/** The name of the resource whose records are the API keys. */
export const keyResourceName = "key";

/** The name of the resource whose records are the webhooks. */
export const webhookResourceName = "webhook";

/** Lifetime of an idempotency key in milliseconds. */
export const idempotencyLifetime = 24 * 60 * 60 * 1000;
