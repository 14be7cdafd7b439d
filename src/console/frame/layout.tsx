// The layout around every page of a site: the bar, the menu, and what can appear over any page.

import { Alert, Box, Drawer, IconButton, Portal, type Theme } from "@mui/material";
import { useIsFetching } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { FindDialog } from "../find/find-dialog.tsx";
import { chooseFrame, useFrameChoices } from "../shell/frame-choices.ts";
import { MenuIcon, ScienceIcon } from "../shell/icons.tsx";
import { SecretDialog } from "../shell/new-secret.tsx";
import { Notices } from "../shell/notices.tsx";
import { keepAnnounced, TitleAnnouncer, usePanel, useRemovePlaceholder } from "../shell/page.tsx";
import { useLocation } from "../shell/router.tsx";
import { findLive, useDeclared, useSiteInfo } from "../shell/site-context.ts";
import { barHeight, narrowMenu, quietColour, useIsNarrow, wideMenu } from "../shell/theme.ts";
import { translate } from "../text/translate.ts";
import { AccessNotices, FaultBoundary, UnsavedGuard } from "./access-notices.tsx";
import { FindButton, SiteChoice, UserMenu } from "./bar.tsx";
import { PageMenu } from "./menu.tsx";
import { Shortcuts } from "./shortcuts.tsx";

export function ConsoleLayout({ children }: { readonly children: ReactNode }) {
  useRemovePlaceholder();
  const isDrawer = useIsNarrow("md");
  const { isMenuNarrow } = useFrameChoices();
  const { pathname } = useLocation();
  const [isOpen, setOpen] = useState(false);
  const toggle = () => (isDrawer ? setOpen(true) : chooseFrame({ isMenuNarrow: !isMenuNarrow }));
  return (
    <>
      <SkipButton />
      <Bar isMenuShown={!isDrawer && !isMenuNarrow} onMenu={toggle} />
      <Box sx={{ display: "flex" }}>
        {isDrawer ? (
          <MenuDrawer isOpen={isOpen} onClose={() => setOpen(false)} />
        ) : (
          <Box sx={(theme) => menuStyle(theme, isMenuNarrow)}>
            <PageMenu isNarrow={isMenuNarrow} />
          </Box>
        )}
        {/* Without a minimum width of 0, a wide table would make the whole page scroll. */}
        <Box component="main" id="main-content" tabIndex={-1} sx={mainStyle}>
          <SiteNotices />
          {/* Going to another page clears the error. */}
          <FaultBoundary key={pathname.split("/", 3).join("/")}>{children}</FaultBoundary>
        </Box>
      </Box>
      <Portal>
        <div ref={keepAnnounced}>
          <TitleAnnouncer />
          <Notices />
        </div>
        <AccessNotices />
      </Portal>
      {usePanel() === "find" && <FindDialog />}
      <SecretDialog />
      <Shortcuts />
      <UnsavedGuard />
    </>
  );
}

const mainStyle = { flexGrow: 1, minWidth: 0, px: { xs: 1.5, sm: 3 }, "&:focus": { outline: "none" } };

const menuStyle = (theme: Theme, isNarrow: boolean) => ({
  flexShrink: 0,
  width: isNarrow ? narrowMenu : wideMenu,
  boxSizing: "border-box",
  position: "sticky",
  top: barHeight,
  height: `calc(100dvh - ${barHeight}px)`,
  overflowY: "auto",
  borderRight: `1px solid ${theme.palette.divider}`,
  backgroundColor: quietColour(theme),
});

/** A button for keyboard users, visible only while it has the focus. */
function SkipButton() {
  return (
    <Box
      component="button"
      type="button"
      data-skip
      onClick={() => document.getElementById("main-content")?.focus()}
      sx={skipStyle}
    >
      {translate("app.skip")}
    </Box>
  );
}

const skipStyle = {
  position: "fixed",
  top: 8,
  left: 8,
  zIndex: "tooltip",
  px: 1.5,
  py: 1,
  border: 1,
  borderColor: "divider",
  borderRadius: 1,
  bgcolor: "background.paper",
  color: "text.primary",
  font: "inherit",
  "&:not(:focus)": { transform: "translateY(-60px)" },
};

function Bar({ isMenuShown, onMenu }: { readonly isMenuShown: boolean; readonly onMenu: () => void }) {
  return (
    <Box component="header" sx={barStyle}>
      <IconButton
        size="small"
        onClick={onMenu}
        aria-label={translate(isMenuShown ? "app.close_menu" : "app.open_menu")}
        sx={{ width: 36, height: 36 }}
      >
        <MenuIcon fontSize="small" />
      </IconButton>
      <SiteChoice />
      <Box sx={{ flexGrow: 1 }} />
      <FindButton />
      <Box sx={{ flexGrow: 1 }} />
      <UserMenu />
      <FetchingLine />
    </Box>
  );
}

const barStyle = (theme: Theme) => ({
  position: "sticky",
  top: 0,
  zIndex: "appBar",
  boxSizing: "border-box",
  display: "flex",
  alignItems: "center",
  gap: 0.5,
  height: barHeight,
  overflowX: "clip",
  px: "10px",
  borderBottom: `1px solid ${theme.palette.divider}`,
  backgroundColor: quietColour(theme),
});

/** A read that takes longer than this many milliseconds is announced. */
const momentMs = 400;

function FetchingLine() {
  const isFetching = useIsFetching() > 0;
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    if (!isFetching) return;
    const timer = setTimeout(() => setLong(true), momentMs);
    return () => {
      clearTimeout(timer);
      setLong(false);
    };
  }, [isFetching]);
  return isLong ? <Box role="progressbar" aria-label={translate("general.loading")} sx={fetchingStyle} /> : null;
}

const fetchingStyle = {
  position: "absolute",
  left: 0,
  bottom: -1,
  height: 2,
  width: "30%",
  bgcolor: "primary.main",
  animation: "sf-fetching 1.2s ease-in-out infinite",
  "@keyframes sf-fetching": { from: { transform: "translateX(-100%)" }, to: { transform: "translateX(340%)" } },
};

/** The menu of a narrow window opens over the page, and closes when you go to another page. */
function MenuDrawer({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when another page is shown
  useEffect(onClose, [pathname]);
  return (
    <Drawer
      open={isOpen}
      onClose={onClose}
      slotProps={{ paper: { sx: drawerStyle, "aria-label": translate("app.menu") } }}
    >
      <PageMenu isNarrow={false} onFollow={onClose} />
    </Drawer>
  );
}

const drawerStyle = (theme: Theme) => ({ width: 260, pt: 1, backgroundColor: quietColour(theme) });

/** Says on all pages that the site is suspended or a sandbox. */
function SiteNotices() {
  const site = useSiteInfo();
  const live = findLive(useDeclared().sites, site);
  return (
    <>
      {live && (
        <Alert severity="info" variant="outlined" icon={<ScienceIcon />} sx={{ mt: 2 }}>
          {translate("sites.sandbox_notice", { name: live.name })}
        </Alert>
      )}
      {site.suspended && (
        <Alert severity="warning" variant="outlined" sx={{ mt: 2 }}>
          {translate("sites.suspended_notice")}
        </Alert>
      )}
    </>
  );
}
