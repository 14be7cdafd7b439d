// The menu of the pages: links in groups, on the left or over the page.

import type { SvgIconComponent } from "@mui/icons-material";
import DashboardIcon from "@mui/icons-material/Dashboard";
import { Box, type Theme } from "@mui/material";
import { iconOf } from "../shell/icons.ts";
import { Link, usePath } from "../shell/router.tsx";
import { useDeclared, useSession, useSiteName } from "../shell/site-context.ts";
import { capitalized } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { pagesOf } from "./pages.tsx";

interface Entry {
  /** The last part of the address; the empty text for the overview. */
  readonly name: string;
  readonly text: string;
  readonly Icon: SvgIconComponent;
}

interface PageMenuProps {
  /** Whether only the icons are shown. */
  readonly isNarrow: boolean;
  readonly onFollow?: () => void;
}

/** The links to all pages that the operator may open. */
export function PageMenu({ isNarrow, onFollow }: PageMenuProps) {
  const siteName = useSiteName();
  const [, shown = ""] = usePath();
  return (
    <Box component="nav" aria-label={translate("app.menu")} className={isNarrow ? "narrow" : ""} sx={menuStyle}>
      {useGroups().map((entries) => (
        <ul key={entries[0]?.name}>
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

/** The entries of the menu: the overview and the lists of records, and then the other pages in their groups. */
function useGroups(): readonly (readonly Entry[])[] {
  const { resources } = useDeclared();
  const pages = pagesOf(useSession()).map((group) =>
    group.map(({ name, Icon }) => ({ name, text: translate(`${name}.title`), Icon })),
  );
  const lists = resources.map(({ path, name, plural }) => ({
    name: path,
    text: capitalized(plural),
    Icon: iconOf(name),
  }));
  const overview = { name: "", text: translate("overview.title"), Icon: DashboardIcon };
  return [[overview, ...lists], ...pages];
}

/** One rule for all entries. Where only icons are shown, screen readers still read the texts. */
const menuStyle = (theme: Theme) => ({
  py: 1,
  "& ul": { listStyle: "none", m: 0, px: 1, py: 0.75 },
  "& a": {
    display: "flex",
    alignItems: "center",
    gap: 1.25,
    minHeight: 34,
    my: "1px",
    px: "11px",
    borderRadius: "6px",
    color: "text.secondary",
    fontSize: 14,
    fontWeight: 500,
    textDecoration: "none",
    "@media (pointer: coarse)": { minHeight: 44 },
  },
  "& a:hover": { bgcolor: "action.hover", color: "text.primary" },
  "& a[aria-current]": { bgcolor: "action.selected", color: "text.primary" },
  "& a svg": { fontSize: 18, flexShrink: 0, opacity: 0.85 },
  "& a[aria-current] svg": { color: theme.palette.primary.main, opacity: 1 },
  "&.narrow span": { position: "absolute", width: 1, height: 1, overflow: "hidden", clipPath: "inset(50%)" },
});
