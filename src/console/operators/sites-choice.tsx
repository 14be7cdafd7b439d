import { Autocomplete, FormControlLabel, Radio, RadioGroup, TextField } from "@mui/material";
import { useTranslate } from "react-admin";
import { useDeclared } from "../frame/site-context.ts";

/** The sites that an operator may manage. */
export interface ManagedSites {
  readonly isForAll: boolean;
  /** Names of the chosen sites. They are kept while `isForAll` is true. */
  readonly sites: readonly string[];
}

/** Converts the choice to the form of the API: null for all sites. */
export function sitesOf({ isForAll, sites }: ManagedSites): readonly string[] | null {
  return isForAll ? null : sites;
}

/** Maximum number of options that the list shows at once. */
const maxOptions = 50;

interface SitesChoiceProps {
  readonly value: ManagedSites;
  readonly onChange: (value: ManagedSites) => void;
}

export function SitesChoice({ value, onChange }: SitesChoiceProps) {
  const translate = useTranslate();
  const { sites: known } = useDeclared();
  const { isForAll, sites } = value;
  return (
    <>
      <RadioGroup
        aria-label={translate("operators.sites")}
        value={isForAll ? "all" : "some"}
        onChange={({ target }) => onChange({ ...value, isForAll: target.value === "all" })}
      >
        <FormControlLabel value="some" control={<Radio />} label={translate("operators.some_sites")} />
        <FormControlLabel value="all" control={<Radio />} label={translate("operators.every_site")} />
      </RadioGroup>
      {!isForAll && (
        <Autocomplete
          multiple
          disableCloseOnSelect
          options={known.map((site) => site.name)}
          value={[...sites]}
          onChange={(_event, chosen) => onChange({ ...value, sites: chosen })}
          filterOptions={(options, { inputValue }) =>
            options.filter((option) => option.includes(inputValue.trim().toLowerCase())).slice(0, maxOptions)
          }
          renderInput={(parameters) => <TextField {...parameters} label={translate("operators.sites")} />}
        />
      )}
    </>
  );
}
