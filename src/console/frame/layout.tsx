// The layout of every page of a site: the bar, the menu, and the parts that can appear over every page.

import ScienceIcon from "@mui/icons-material/Science";
import { Alert, Box, Divider, Portal } from "@mui/material";
import { AppBar, Layout, type LayoutProps, LoadingIndicator, Menu, Notification } from "react-admin";
import { FindButton, FindDialog } from "../find/find-dialog.tsx";
import { Notices } from "../shell/notices.tsx";
import { keepAnnounced, TitleAnnouncer } from "../shell/page-title.tsx";
import { findLive } from "../shell/sandboxes.ts";
import { useDeclared, useSession, useSiteInfo, useSiteName } from "../shell/site-context.ts";
import { translate } from "../text/translate.ts";
import { AccessNotices } from "./access-notices.tsx";
import { pagesOf } from "./pages.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { SiteChoice } from "./site-choice.tsx";
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
      <SandboxNotice />
      {children}
      <Portal>
        <div ref={keepAnnounced}>
          <TitleAnnouncer />
          <Notices />
        </div>
        <AccessNotices />
      </Portal>
      <FindDialog />
      <Shortcuts />
      <UnsavedGuard />
    </Layout>
  );
}

/** Says on every page of a sandbox that it is one. */
function SandboxNotice() {
  const live = findLive(useDeclared().sites, useSiteInfo());
  if (!live) return null;
  return (
    <Alert severity="info" variant="outlined" icon={<ScienceIcon />} sx={{ mt: 2 }}>
      {translate("sites.sandbox_notice", { name: live.name })}
    </Alert>
  );
}

/**
 * Shows notifications. They are outside the element of the page, because open dialogs hide that from screen readers. They do not cover a record's
 * form.
 */
export function AdminNotices() {
  return (
    <Portal>
      <Notification anchorOrigin={{ vertical: "bottom", horizontal: "left" }} />
    </Portal>
  );
}

function ConsoleAppBar() {
  return (
    <AppBar
      color="default"
      elevation={0}
      toolbar={<LoadingIndicator />}
      userMenu={<ConsoleUserMenu />}
      sx={{ borderBottom: 1, borderColor: "divider", bgcolor: "background.paper" }}
    >
      <Box sx={{ flexGrow: 1 }} />
      <FindButton />
      <SiteChoice />
    </AppBar>
  );
}

function ConsoleMenu() {
  const siteName = useSiteName();
  const { resources } = useDeclared();
  const [first = [], ...others] = pagesOf(useSession());
  const toItem = ({ name, Icon }: (typeof first)[number]) => (
    <Menu.Item key={name} to={`/${siteName}/${name}`} primaryText={translate(`${name}.title`)} leftIcon={<Icon />} />
  );
  return (
    <Menu sx={{ pt: 1 }}>
      <Menu.DashboardItem primaryText={translate("overview.title")} />
      {resources.map(({ path }) => (
        <Menu.ResourceItem key={path} name={path} />
      ))}
      {first.map(toItem)}
      {others.map((pages) => [<Divider key={`before ${pages[0]?.name}`} sx={{ my: 1 }} />, ...pages.map(toItem)])}
    </Menu>
  );
}
