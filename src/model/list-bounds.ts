// Bounds of the query parameters of a list (contract section 6).

/** Records in a page. */
export const maxPageSize = 1000;

/** Filters in a request. */
export const maxFilters = 16;

/** IDs in `filter[ID][in]`. */
export const maxIds = 1000;

/** Fields in `sort`. */
export const maxSortFields = 8;
