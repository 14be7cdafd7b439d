// The system site, whose records are the sites, keys, webhooks and operators.

export const systemSite = 0;

/** A site record's ID is the site's ID. */
export const siteResourceName = "site";

export const keyResourceName = "key";

export const webhookResourceName = "webhook";

export const operatorResourceName = "operator";
