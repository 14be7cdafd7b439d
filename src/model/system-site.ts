/** The site that holds the records of sites and keys. */
export const systemSite = 0;

/** The name of the resource whose records are the sites: a record's ID is its site's number. */
export const siteResourceName = "site";
