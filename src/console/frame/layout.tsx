import HistoryIcon from "@mui/icons-material/History";
import ImportIcon from "@mui/icons-material/ImportExport";
import KeyIcon from "@mui/icons-material/Key";
import PeopleIcon from "@mui/icons-material/People";
import StorefrontIcon from "@mui/icons-material/Storefront";
import WebhookIcon from "@mui/icons-material/Webhook";
import { Box, Divider, Portal } from "@mui/material";
import { AppBar, Layout, type LayoutProps, LoadingIndicator, Menu, Notification, TitlePortal } from "react-admin";
import { FindButton, FindDialog } from "../find/find-dialog.tsx";
import { TitleAnnouncer } from "../shell/page-title.tsx";
import { useDeclared, useSession, useSite } from "../shell/site-context.ts";
import { texts } from "../texts.ts";
import { AccessNotices } from "./access-notices.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { SiteChoice } from "./site-choice.tsx";
import { UndoOffer } from "./undo-offer.tsx";
import { UnsavedGuard } from "./unsaved-guard.tsx";
import { ConsoleUserMenu } from "./user-menu.tsx";

/** The frame of every page: the bar with the site, the menu, notices and dialogs that can appear on every page. */
export function ConsoleLayout({ children, ...rest }: LayoutProps) {
  return (
    // The minimum width of 0 makes a wide table scroll instead of the page.
    <Layout
      {...rest}
      sx={{ minWidth: 0, "& .RaLayout-content": { minWidth: 0, px: { xs: 1.5, sm: 2 } } }}
      appBar={ConsoleAppBar}
      menu={ConsoleMenu}
    >
      {children}
      <Portal>
        <TitleAnnouncer />
        <UndoOffer />
        <AccessNotices />
      </Portal>
      <FindDialog />
      <Shortcuts />
      <UnsavedGuard />
    </Layout>
  );
}

/**
 * Shows notifications. They are outside the element of the page, because open dialogs hide that from screen readers. They do not cover a record's
 * form.
 */
export function Notices() {
  return (
    <Portal>
      <Notification anchorOrigin={{ vertical: "bottom", horizontal: "left" }} />
    </Portal>
  );
}

/** Hides the title on a phone, where the bar has no space for it, except for screen readers. */
const titleStyle = {
  position: { xs: "absolute", sm: "static" },
  width: { xs: "1px", sm: "auto" },
  clipPath: { xs: "inset(50%)", sm: "none" },
} as const;

function ConsoleAppBar() {
  return (
    <AppBar
      color="default"
      elevation={0}
      toolbar={<LoadingIndicator />}
      userMenu={<ConsoleUserMenu />}
      sx={{ borderBottom: 1, borderColor: "divider", bgcolor: "background.paper" }}
    >
      <TitlePortal variantMapping={{ h6: "h1" }} sx={titleStyle} />
      <Box sx={{ flexGrow: 1, display: { sm: "none" } }} />
      <FindButton />
      <SiteChoice />
    </AppBar>
  );
}

function ConsoleMenu() {
  const site = useSite();
  const { resources } = useDeclared();
  const { sites } = useSession();
  return (
    <Menu sx={{ pt: 1 }}>
      <Menu.DashboardItem primaryText={texts.overview.title} />
      {resources.map(({ path }) => (
        <Menu.ResourceItem key={path} name={path} />
      ))}
      <Menu.Item to={`/${site}/import`} primaryText={texts.import.title} leftIcon={<ImportIcon />} />
      <Menu.Item to={`/${site}/history`} primaryText={texts.history.title} leftIcon={<HistoryIcon />} />
      <Divider sx={{ my: 1 }} />
      <Menu.Item to={`/${site}/keys`} primaryText={texts.keys.title} leftIcon={<KeyIcon />} />
      <Menu.Item to={`/${site}/webhooks`} primaryText={texts.webhooks.title} leftIcon={<WebhookIcon />} />
      <Divider sx={{ my: 1 }} />
      <Menu.Item to={`/${site}/sites`} primaryText={texts.sites.title} leftIcon={<StorefrontIcon />} />
      {sites === null && (
        <Menu.Item to={`/${site}/operators`} primaryText={texts.operators.title} leftIcon={<PeopleIcon />} />
      )}
    </Menu>
  );
}
