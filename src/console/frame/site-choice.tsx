// The field in the bar that shows the name of the site, and switches to another site.

import ScienceIcon from "@mui/icons-material/Science";
import StorefrontIcon from "@mui/icons-material/Storefront";
import { Autocomplete, createFilterOptions, InputAdornment, TextField } from "@mui/material";
import { useNavigate } from "react-router-dom";
import type { SiteInfo } from "../../admin/api/types.ts";
import { useDeclared, useSiteInfo } from "../shell/site-context.ts";
import { translate } from "../text/translate.ts";

/** Maximum number of sites in the list. Typing finds all others. */
const maxOffered = 50;

const filterSites = createFilterOptions<SiteInfo>({
  limit: maxOffered,
  stringify: ({ name, hostnames }) => [name, ...hostnames].join(" "),
});

/** Chooses the site to show, by name or hostname. */
export function SiteChoice() {
  const site = useSiteInfo();
  const { sites } = useDeclared();
  const navigate = useNavigate();
  return (
    <Autocomplete
      size="small"
      disableClearable
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
          {one.name}
          {one.sandboxOf !== null && <ScienceIcon fontSize="small" color="info" sx={{ ml: "auto", pl: 0.5 }} />}
        </li>
      )}
      onChange={(_event, { name }) => navigate(`/${name}`)}
      sx={{ width: { xs: 164, sm: 220 }, flexShrink: 1 }}
      slotProps={{ popper: { placement: "bottom-end", sx: { minWidth: 220 } } }}
      renderInput={(parameters) => (
        <TextField
          {...parameters}
          variant="outlined"
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

/** Leaves out the copies that are still being made for a sandbox. */
function isComplete({ importing, sandboxOf }: SiteInfo): boolean {
  return importing === null || sandboxOf === null;
}

/** Another icon for a sandbox, because a phone does not show the end of its name. */
function SiteIcon({ site: { sandboxOf } }: { readonly site: SiteInfo }) {
  return (
    <InputAdornment position="start" sx={{ ml: 0.5, mr: 0 }}>
      {sandboxOf === null ? <StorefrontIcon fontSize="small" /> : <ScienceIcon fontSize="small" color="info" />}
    </InputAdornment>
  );
}
