/** The ID of the site whose records are the sites, keys and webhooks. */
export const systemSite = 0;

/** The name of the resource whose records are the sites: the ID of a record is that of its site. */
export const siteResourceName = "site";

/** The name of the resource whose records are the API keys. */
export const keyResourceName = "key";

/** The name of the resource whose records are the webhooks. */
export const webhookResourceName = "webhook";
