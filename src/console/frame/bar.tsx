// The bar's site switcher and operator menu.

import {
  Box,
  Button,
  Divider,
  IconButton,
  ListItemIcon,
  Menu,
  MenuItem,
  type MenuItemProps,
  Typography,
} from "@mui/material";
import { Suspense } from "react";
import { reloadWithoutAddress, signOut } from "../session/session.tsx";
import { useMenu } from "../shell/action-menu.tsx";
import { chooseFrame, useFrameChoices } from "../shell/frame-choices.ts";
import {
  CheckIcon,
  DevicesIcon,
  type IconComponent,
  KeyboardIcon,
  LicencesIcon,
  LogoutIcon,
  ScienceIcon,
  SearchIcon,
} from "../shell/icons.tsx";
import { Initial } from "../shell/initial.tsx";
import { lazyPart } from "../shell/lazy-part.tsx";
import { openPanel } from "../shell/page.tsx";
import { useSession, useSiteInfo } from "../shell/site-context.ts";
import { askBeforeLoss, markAllSaved } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";

/** Leaves a slow network and processor to the page's first reads. */
const listAfterMs = 1000;

const SiteList = lazyPart(async () => {
  await new Promise((resolve) => setTimeout(resolve, listAfterMs));
  return (await import("./settings-parts.ts")).SiteChoice;
}, SiteName);

export function SiteChoice() {
  return (
    <Suspense fallback={<SiteName />}>
      <SiteList />
    </Suspense>
  );
}

/** The same without the list, and in the same place. */
function SiteName() {
  const { name, sandboxOf } = useSiteInfo();
  return (
    <Box sx={siteNameStyle}>
      {sandboxOf === null ? <Initial name={name} /> : <ScienceIcon color="info" />}
      <Typography noWrap sx={{ fontWeight: 600 }}>
        {name}
      </Typography>
    </Box>
  );
}

const siteNameStyle = {
  display: "flex",
  alignItems: "center",
  width: { xs: 190, sm: 220 },
  flexShrink: 1,
  minWidth: 0,
};

export function FindButton() {
  const title = translate("find.title");
  const open = () => openPanel("find");
  return (
    <>
      <IconButton onClick={open} aria-label={title} sx={{ display: { md: "none" } }}>
        <SearchIcon fontSize="small" />
      </IconButton>
      <Button
        onClick={open}
        color="inherit"
        variant="outlined"
        startIcon={<SearchIcon />}
        sx={{
          display: { xs: "none", md: "inline-flex" },
          mx: 1,
          minHeight: 32,
          height: 32,
          width: 260,
          fontWeight: 400,
          justifyContent: "flex-start",
          borderColor: "divider",
          color: "text.secondary",
        }}
      >
        <Box component="span" sx={{ flexGrow: 1, textAlign: "left" }}>
          {title}
        </Box>
        <kbd>Ctrl+K</kbd>
      </Button>
    </>
  );
}

export function UserMenu() {
  const { operator } = useSession();
  const { button, menu, close } = useMenu();
  const choose = (act: () => void) => () => {
    close();
    act();
  };
  return (
    <>
      <Button color="inherit" aria-label={operator} sx={{ px: 0.75, flexShrink: 0 }} {...button}>
        <Initial name={operator} isPerson />
        <Box component="span" sx={nameStyle}>
          {operator}
        </Box>
      </Button>
      <Menu
        {...menu}
        anchorOrigin={{ vertical: "bottom", horizontal: "right" }}
        transformOrigin={{ vertical: "top", horizontal: "right" }}
      >
        <Typography component="li" role="presentation" variant="body2" color="textSecondary" sx={{ px: 2, py: 0.75 }}>
          {translate("session.signed_in_as", { name: operator })}
        </Typography>
        <Divider />
        {colourEntries(useFrameChoices().colours)}
        <Divider />
        <Entry Icon={KeyboardIcon} text={translate("shortcuts.title")} onClick={choose(() => openPanel("shortcuts"))} />
        <MenuItem component="a" href="/console.js.LICENSE.txt" target="_blank" rel="noopener" onClick={close}>
          <ListItemIcon>
            <LicencesIcon />
          </ListItemIcon>
          {translate("session.licences")}
        </MenuItem>
        <Divider />
        <Entry Icon={LogoutIcon} text={translate("session.sign_out")} onClick={choose(() => leave(false))} />
        <Entry Icon={DevicesIcon} text={translate("session.sign_out_everywhere")} onClick={choose(() => leave(true))} />
      </Menu>
    </>
  );
}

interface EntryProps extends MenuItemProps {
  readonly Icon: IconComponent;
  readonly text: string;
}

function Entry({ Icon, text, ...item }: EntryProps) {
  return (
    <MenuItem {...item}>
      <ListItemIcon>
        <Icon />
      </ListItemIcon>
      {text}
    </MenuItem>
  );
}

const nameStyle = {
  display: { xs: "none", md: "inline" },
  ml: 0.75,
  maxWidth: 160,
  overflow: "hidden",
  textOverflow: "ellipsis",
};

/** A list rather than a component, because a menu's items must be its direct children. The menu stays open, so that you see the result. */
function colourEntries(current: string) {
  return (["device", "light", "dark"] as const).map((colours) => (
    <MenuItem
      key={colours}
      role="menuitemradio"
      aria-checked={current === colours}
      onClick={() => chooseFrame({ colours })}
    >
      <ListItemIcon>{current === colours && <CheckIcon />}</ListItemIcon>
      {translate(`app.colours_${colours}`)}
    </MenuItem>
  ));
}

/** Signs out, once the operator agrees to lose unsaved changes. */
function leave(everywhere: boolean) {
  askBeforeLoss(async () => {
    markAllSaved();
    await signOut(everywhere).catch(() => {});
    reloadWithoutAddress();
  });
}
