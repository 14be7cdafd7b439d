/** The site that holds the records of sites and keys. */
export const systemSite = 0;
