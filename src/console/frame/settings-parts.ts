// The pages about the server and its sites, and the list of sites, as one script.

export { AuditPage } from "../audit/audit-page.tsx";
export { HistoryPage } from "../history/history-page.tsx";
export { KeysPage } from "../keys/keys-page.tsx";
export { OperatorsPage } from "../operators/operators-page.tsx";
export { RequestsPage } from "../requests/requests-page.tsx";
export { FirstSite } from "../sites/site-form.tsx";
export { SitesPage } from "../sites/sites-page.tsx";
export { WebhooksPage } from "../webhooks/webhooks-page.tsx";
export { SiteChoice } from "./site-choice.tsx";
