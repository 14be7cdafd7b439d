// The menu of the operator in the bar: colours, shortcuts, licences, and signing out.

import type { SvgIconComponent } from "@mui/icons-material";
import DarkIcon from "@mui/icons-material/Brightness4";
import LightIcon from "@mui/icons-material/Brightness7";
import LicencesIcon from "@mui/icons-material/Description";
import DevicesIcon from "@mui/icons-material/Devices";
import KeyboardIcon from "@mui/icons-material/Keyboard";
import LogoutIcon from "@mui/icons-material/Logout";
import { Divider, ListItemIcon, ListItemText, MenuItem, useTheme as useMuiTheme } from "@mui/material";
import { UserMenu, useTheme, useUserMenu } from "react-admin";
import { reloadWithoutAddress, signOut } from "../session/session.ts";
import { openPanel } from "../shell/panel.ts";
import { useSession } from "../shell/site-context.ts";
import { askBeforeLoss, markAllSaved } from "../shell/unsaved.ts";
import { type TextKey, translate } from "../text/translate.ts";

/** The menu with the name of the operator, settings, and signing out. */
export function ConsoleUserMenu() {
  const { operator } = useSession();
  return (
    <UserMenu label={operator}>
      <MenuItem disabled sx={{ "&.Mui-disabled": { opacity: 1 } }}>
        <ListItemText>{translate("session.signed_in_as", { name: operator })}</ListItemText>
      </MenuItem>
      <Divider />
      <ThemeEntry />
      <Entry icon={KeyboardIcon} text="shortcuts.title" onChoose={() => openPanel("shortcuts")} />
      <LicencesEntry />
      <Entry
        icon={LogoutIcon}
        text="session.sign_out"
        onChoose={() => askBeforeLoss(() => void signOutAndReload(false))}
      />
      <Entry
        icon={DevicesIcon}
        text="session.sign_out_everywhere"
        onChoose={() => askBeforeLoss(() => void signOutAndReload(true))}
      />
    </UserMenu>
  );
}

/** Switches between light and dark colours. The default is the setting of the operating system. */
function ThemeEntry() {
  const { palette } = useMuiTheme();
  const [, setTheme] = useTheme();
  const isDark = palette.mode === "dark";
  return (
    <Entry
      icon={isDark ? LightIcon : DarkIcon}
      text={isDark ? "app.light" : "app.dark"}
      onChoose={() => setTheme(isDark ? "light" : "dark")}
    />
  );
}

/** A link that opens the licences in a new tab, and closes the menu. */
function LicencesEntry() {
  const menu = useUserMenu();
  return (
    <MenuItem
      component="a"
      href="/console.js.LICENSE.txt"
      target="_blank"
      rel="noopener"
      onClick={() => menu?.onClose()}
    >
      <ListItemIcon>
        <LicencesIcon fontSize="small" />
      </ListItemIcon>
      <ListItemText>{translate("session.licences")}</ListItemText>
    </MenuItem>
  );
}

interface EntryProps {
  readonly icon: SvgIconComponent;
  readonly text: TextKey;
  readonly onChoose: () => void;
}

function Entry({ icon: Icon, text, onChoose }: EntryProps) {
  const menu = useUserMenu();
  function choose() {
    menu?.onClose();
    onChoose();
  }
  return (
    <MenuItem onClick={choose}>
      <ListItemIcon>
        <Icon fontSize="small" />
      </ListItemIcon>
      <ListItemText>{translate(text)}</ListItemText>
    </MenuItem>
  );
}

async function signOutAndReload(everywhere: boolean) {
  markAllSaved();
  await signOut(everywhere).catch(() => {});
  reloadWithoutAddress();
}
