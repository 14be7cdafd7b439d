// The pages of a site, besides the overview and the lists of records. The route, the item in the menu and the shortcut of a page follow from its line.

import type { SvgIconComponent } from "@mui/icons-material";
import RequestsIcon from "@mui/icons-material/CompareArrows";
import HistoryIcon from "@mui/icons-material/History";
import ImportIcon from "@mui/icons-material/ImportExport";
import KeyIcon from "@mui/icons-material/Key";
import PeopleIcon from "@mui/icons-material/People";
import StorefrontIcon from "@mui/icons-material/Storefront";
import WebhookIcon from "@mui/icons-material/Webhook";
import type { ComponentType, ReactElement } from "react";
import type { RightInfo, SessionInfo } from "../../admin/api/types.ts";
import { HistoryPage } from "../history/history-page.tsx";
import { ImportPage } from "../import/import-page.tsx";
import { KeysPage } from "../keys/keys-page.tsx";
import { OperatorsPage } from "../operators/operators-page.tsx";
import { RequestsPage } from "../requests/requests-page.tsx";
import { ClosedPage } from "../shell/role-notice.tsx";
import { SitesPage } from "../sites/sites-page.tsx";
import { translate } from "../text/translate.ts";
import { WebhooksPage } from "../webhooks/webhooks-page.tsx";

interface SitePage {
  /** The last part of its address. The texts of the page have the same name. */
  readonly name: "history" | "import" | "keys" | "operators" | "requests" | "sites" | "webhooks";
  readonly Icon: SvgIconComponent;
  /** The key that opens the page after `g`. */
  readonly key: string;
  readonly Page: ComponentType;
  /** The right without which nobody may open the page. */
  readonly needs?: RightInfo;
  /** Whether only operators of all sites may open the page. */
  readonly isForAllSites?: true;
}

/** The pages, in the groups of the menu. */
const groups: readonly (readonly SitePage[])[] = [
  [
    { name: "import", Icon: ImportIcon, key: "i", Page: ImportPage },
    { name: "history", Icon: HistoryIcon, key: "h", Page: HistoryPage },
  ],
  [
    { name: "requests", Icon: RequestsIcon, key: "r", Page: RequestsPage },
    { name: "keys", Icon: KeyIcon, key: "k", Page: KeysPage, needs: "read-settings" },
    { name: "webhooks", Icon: WebhookIcon, key: "w", Page: WebhooksPage, needs: "read-settings" },
  ],
  [
    { name: "sites", Icon: StorefrontIcon, key: "s", Page: SitesPage },
    { name: "operators", Icon: PeopleIcon, key: "p", Page: OperatorsPage, needs: "read-settings", isForAllSites: true },
  ],
];

type Access = Pick<SessionInfo, "sites" | "rights">;

function mayOpen({ needs = "read", isForAllSites }: SitePage, { sites, rights }: Access): boolean {
  return rights.includes(needs) && (!isForAllSites || sites === null);
}

/** Returns the pages that an operator may open, in the groups of the menu. */
export function pagesOf(session: Access): readonly (readonly SitePage[])[] {
  return groups.map((pages) => pages.filter((page) => mayOpen(page, session))).filter(({ length }) => length > 0);
}

/** Returns the page with this name, or undefined. If the operator may not open it, it says who may. */
export function pageNamed(wanted: string, session: Access): ReactElement | undefined {
  const page = groups.flat().find(({ name }) => name === wanted);
  if (!page) return undefined;
  return mayOpen(page, session) ? <page.Page key={wanted} /> : <ClosedPage title={translate(`${page.name}.title`)} />;
}
