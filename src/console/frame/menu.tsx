// The menu, and a site's pages other than the overview and lists of records. Each page's line here defines its route, menu item and shortcut.

import { Box, type Theme } from "@mui/material";
import type { ComponentType, ReactElement } from "react";
import type { RightInfo, SessionInfo } from "../../admin/api/types.ts";
import {
  AuditIcon,
  DashboardIcon,
  HistoryIcon,
  type IconComponent,
  ImportIcon,
  iconOf,
  KeyIcon,
  PeopleIcon,
  RequestsIcon,
  StorefrontIcon,
  WebhookIcon,
} from "../shell/icons.tsx";
import { lazyPart } from "../shell/lazy-part.tsx";
import { ClosedPage } from "../shell/role-notice.tsx";
import { Link, usePath } from "../shell/router.tsx";
import { useDeclared, useSession, useSiteName } from "../shell/site-context.ts";
import { lowShadow } from "../shell/theme.ts";
import { capitalize } from "../text/locale.ts";
import { type TextKey, translate } from "../text/translate.ts";

interface SitePage {
  /** The last part of the page's address. The page's texts have the same name. */
  readonly name: "audit" | "history" | "import" | "keys" | "operators" | "requests" | "sites" | "webhooks";
  readonly Icon: IconComponent;
  /** The key that opens the page after `g`. */
  readonly key: string;
  readonly Page: ComponentType;
  /** The right an operator needs to open the page. */
  readonly needs?: RightInfo;
  /** Whether only operators of all sites can open the page. */
  readonly isForAllSites?: true;
}

const ImportPage = lazyPart(async () => (await import("../import/import-page.tsx")).ImportPage);
const HistoryPage = lazyPart(async () => (await import("./settings-parts.ts")).HistoryPage);
const RequestsPage = lazyPart(async () => (await import("./settings-parts.ts")).RequestsPage);
const KeysPage = lazyPart(async () => (await import("./settings-parts.ts")).KeysPage);
const WebhooksPage = lazyPart(async () => (await import("./settings-parts.ts")).WebhooksPage);
const SitesPage = lazyPart(async () => (await import("./settings-parts.ts")).SitesPage);
const OperatorsPage = lazyPart(async () => (await import("./settings-parts.ts")).OperatorsPage);
const AuditPage = lazyPart(async () => (await import("./settings-parts.ts")).AuditPage);

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
    { name: "audit", Icon: AuditIcon, key: "a", Page: AuditPage, needs: "read-settings" },
  ],
];

type Access = Pick<SessionInfo, "sites" | "rights">;

function canOpen({ needs = "read", isForAllSites }: SitePage, { sites, rights }: Access): boolean {
  return rights.includes(needs) && (!isForAllSites || sites === null);
}

/** Returns the pages an operator can open, grouped as in the menu. */
export function pagesOf(session: Access): readonly (readonly SitePage[])[] {
  return groups.map((pages) => pages.filter((page) => canOpen(page, session))).filter(({ length }) => length > 0);
}

/** Returns the page with this name, or undefined if there is none. If the operator can't open it, returns a page that says who can. */
export function pageNamed(wanted: string, session: Access): ReactElement | undefined {
  const page = groups.flat().find(({ name }) => name === wanted);
  if (!page) return undefined;
  return canOpen(page, session) ? <page.Page key={wanted} /> : <ClosedPage title={translate(`${page.name}.title`)} />;
}

interface Entry {
  /** The last part of the address; empty for the overview. */
  readonly name: string;
  readonly text: string;
  readonly Icon: IconComponent;
}

interface PageMenuProps {
  readonly isNarrow: boolean;
  readonly onFollow?: () => void;
}

export function PageMenu({ isNarrow, onFollow }: PageMenuProps) {
  const siteName = useSiteName();
  const [, shown = ""] = usePath();
  return (
    <Box component="nav" aria-label={translate("app.menu")} className={isNarrow ? "narrow" : ""} sx={menuStyle}>
      {useGroups().map((entries) => (
        <ul key={entries[0]?.name} aria-label={headingOf(entries)}>
          {!isNarrow && headingOf(entries) && <li aria-hidden>{headingOf(entries)}</li>}
          {entries.map(({ name, text, Icon }) => (
            <li key={name}>
              <Link
                to={`/${siteName}${name && `/${name}`}`}
                aria-current={name === shown ? "page" : undefined}
                title={isNarrow ? text : undefined}
                onClick={onFollow}
              >
                <Icon />
                <span>{text}</span>
              </Link>
            </li>
          ))}
        </ul>
      ))}
    </Box>
  );
}

/** The heading shown above an entry, for its whole group. */
const headings: Readonly<Record<string, TextKey>> = { requests: "app.menu_developers", sites: "app.menu_server" };

function headingOf([first]: readonly Entry[]): string | undefined {
  const heading = headings[first?.name ?? ""];
  return heading && translate(heading);
}

/** The menu's entries: the overview and lists of records, then the other pages in their groups. */
function useGroups(): readonly (readonly Entry[])[] {
  const { resources } = useDeclared();
  const pages = pagesOf(useSession()).map((group) =>
    group.map(({ name, Icon }) => ({ name, text: translate(`${name}.title`), Icon })),
  );
  const lists = resources.map(({ path, name, plural }) => ({
    name: path,
    text: capitalize(plural),
    Icon: iconOf(name),
  }));
  const overview = { name: "", text: translate("overview.title"), Icon: DashboardIcon };
  return [[overview, ...lists], ...pages];
}

/** One rule styles all entries. Where only icons are visible, screen readers still read the texts. */
const menuStyle = (theme: Theme) => ({
  py: 1,
  "& ul": { listStyle: "none", m: 0, px: 1, py: 0.75 },
  "& li[aria-hidden]": { px: "11px", pt: 0.5, pb: 0.25, color: "text.secondary", fontSize: 12, fontWeight: 600 },
  "& a": {
    display: "flex",
    alignItems: "center",
    gap: 1.25,
    minHeight: 32,
    my: "1px",
    px: "11px",
    borderRadius: "8px",
    color: "text.secondary",
    fontSize: 14,
    fontWeight: 500,
    textDecoration: "none",
    "@media (pointer: coarse)": { minHeight: 44 },
  },
  "& a:hover": { bgcolor: "action.hover", color: "text.primary" },
  "& a[aria-current]": {
    bgcolor: theme.palette.mode === "dark" ? "action.selected" : "background.paper",
    boxShadow: lowShadow,
    color: "text.primary",
    fontWeight: 600,
  },
  "& a svg": { fontSize: 18, flexShrink: 0, opacity: 0.85 },
  "& a[aria-current] svg": { color: theme.palette.primary.main, opacity: 1 },
  "&.narrow span": { position: "absolute", width: 1, height: 1, overflow: "hidden", clipPath: "inset(50%)" },
});
