// The pages of a site, besides the overview and the lists of records. The route, the item in the menu and the shortcut of a page follow from its line.

import type { SvgIconComponent } from "@mui/icons-material";
import HistoryIcon from "@mui/icons-material/History";
import ImportIcon from "@mui/icons-material/ImportExport";
import KeyIcon from "@mui/icons-material/Key";
import PeopleIcon from "@mui/icons-material/People";
import StorefrontIcon from "@mui/icons-material/Storefront";
import WebhookIcon from "@mui/icons-material/Webhook";
import type { ComponentType } from "react";
import type { SessionInfo } from "../../admin/api/types.ts";
import { HistoryPage } from "../history/history-page.tsx";
import { ImportPage } from "../import/import-page.tsx";
import { KeysPage } from "../keys/keys-page.tsx";
import { OperatorsPage } from "../operators/operators-page.tsx";
import { SitesPage } from "../sites/sites-page.tsx";
import { WebhooksPage } from "../webhooks/webhooks-page.tsx";

interface SitePage {
  /** The last part of its address. The texts of the page have the same name. */
  readonly name: "history" | "import" | "keys" | "operators" | "sites" | "webhooks";
  readonly Icon: SvgIconComponent;
  /** The key that opens the page after `g`. */
  readonly key: string;
  readonly Page: ComponentType;
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
    { name: "keys", Icon: KeyIcon, key: "k", Page: KeysPage },
    { name: "webhooks", Icon: WebhookIcon, key: "w", Page: WebhooksPage },
  ],
  [
    { name: "sites", Icon: StorefrontIcon, key: "s", Page: SitesPage },
    { name: "operators", Icon: PeopleIcon, key: "p", Page: OperatorsPage, isForAllSites: true },
  ],
];

/** Returns the pages that an operator may open, in the groups of the menu. */
export function pagesOf({ sites }: Pick<SessionInfo, "sites">): readonly (readonly SitePage[])[] {
  return groups.map((pages) => pages.filter(({ isForAllSites }) => !isForAllSites || sites === null));
}
