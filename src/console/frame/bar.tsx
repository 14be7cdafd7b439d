// The bar's site switcher and operator menu.

import {
  Autocomplete,
  Box,
  Button,
  createFilterOptions,
  Divider,
  InputAdornment,
  ListItemIcon,
  Menu,
  MenuItem,
  type MenuItemProps,
  TextField,
  Typography,
} from "@mui/material";
import type { SiteInfo } from "../../admin/api/types.ts";
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
  OpenIcon,
  ScienceIcon,
} from "../shell/icons.tsx";
import { Initial } from "../shell/initial.tsx";
import { openPanel } from "../shell/page.tsx";
import { navigate } from "../shell/router.tsx";
import { useDeclared, useSession, useSiteInfo } from "../shell/site-context.ts";
import { askBeforeLoss, markAllSaved } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";

/** Maximum sites listed. Others are found by typing. */
const maxOffered = 50;

const filterSites = createFilterOptions<SiteInfo>({
  limit: maxOffered,
  stringify: ({ name, hostnames }) => [name, ...hostnames].join(" "),
});

export function SiteChoice() {
  const site = useSiteInfo();
  const { sites } = useDeclared();
  return (
    <Autocomplete
      size="small"
      disableClearable
      popupIcon={<OpenIcon fontSize="small" />}
      autoHighlight
      openOnFocus
      options={sites.filter(isComplete)}
      value={site}
      filterOptions={filterSites}
      getOptionLabel={({ name }) => name}
      getOptionKey={({ id }) => id}
      isOptionEqualToValue={(one, other) => one.id === other.id}
      noOptionsText={translate("app.no_such_site")}
      renderOption={({ key, ...properties }, one) => (
        <li key={key} {...properties}>
          <Initial name={one.name} />
          {one.name}
          {one.sandboxOf !== null && <ScienceIcon fontSize="small" color="info" sx={{ ml: "auto", pl: 0.5 }} />}
        </li>
      )}
      onChange={(_event, { name }) => navigate(`/${name}`)}
      sx={siteChoiceStyle}
      slotProps={{ popper: { placement: "bottom-start", sx: { minWidth: 220 } } }}
      renderInput={(parameters) => (
        <TextField
          {...parameters}
          margin="none"
          hiddenLabel
          slotProps={{
            ...parameters.slotProps,
            input: { ...parameters.slotProps?.input, startAdornment: <SiteIcon site={site} /> },
            htmlInput: { ...parameters.slotProps?.htmlInput, "aria-label": translate("app.site") },
          }}
          onFocus={({ target }) => (target as HTMLInputElement).select()}
        />
      )}
    />
  );
}

/** A field that shows its border only while it's in use, and is as wide as its text where the browser supports that. */
const siteChoiceStyle = {
  width: { xs: 190, sm: 220 },
  flexShrink: 1,
  "& .MuiFormControl-root": { width: "auto", maxWidth: "100%" },
  "& .MuiAutocomplete-inputRoot .MuiAutocomplete-input": {
    width: "auto",
    flexGrow: 0,
    fieldSizing: "content",
    fontWeight: 600,
  },
  "& .MuiAutocomplete-popupIndicator": { transform: "none" },
  "& .MuiOutlinedInput-root:not(.Mui-focused, :hover) .MuiOutlinedInput-notchedOutline": {
    borderColor: "transparent",
  },
};

/** Leaves out sandboxes whose first copy isn't finished. */
function isComplete({ importing, sandboxOf }: SiteInfo): boolean {
  return importing === null || sandboxOf === null;
}

/** Sandboxes have their own icon, because phones cut off the end of the name. */
function SiteIcon({ site: { name, sandboxOf } }: { readonly site: SiteInfo }) {
  return (
    <InputAdornment position="start" sx={{ ml: 0.25, mr: 0.25 }}>
      {sandboxOf === null ? <Initial name={name} /> : <ScienceIcon color="info" />}
    </InputAdornment>
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
