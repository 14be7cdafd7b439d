// The bar's site switcher. It's loaded after the page, because its list with a search is a tenth of all scripts.

import { Autocomplete, createFilterOptions, InputAdornment, TextField } from "@mui/material";
import type { SiteInfo } from "../../admin/api/types.ts";
import { OpenIcon, ScienceIcon } from "../shell/icons.tsx";
import { Initial } from "../shell/initial.tsx";
import { navigate } from "../shell/router.tsx";
import { useDeclared, useSiteInfo } from "../shell/site-context.ts";
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
