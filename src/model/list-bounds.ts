// How much a list may be asked for at once (contract section 6).

/** Most records of a page. */
export const maxPageSize = 1000;

/** Most filters of a request. */
export const maxFilters = 16;

/** Most IDs of `filter[ID][in]`. */
export const maxIds = 1000;

/** Most fields of `sort`. */
export const maxSortFields = 8;
