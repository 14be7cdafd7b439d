// The names of the system site, whose records are the sites, keys, webhooks and operators.

/** The ID of the system site. */
export const systemSite = 0;

/** The name of the resource of sites. The ID of a record is the ID of its site. */
export const siteResourceName = "site";

/** The name of the resource of API keys. */
export const keyResourceName = "key";

/** The name of the resource of webhooks. */
export const webhookResourceName = "webhook";

/** The name of the resource of operators. */
export const operatorResourceName = "operator";
