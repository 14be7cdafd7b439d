// The dialogs of the page of operators: adding an operator, changing the sites of an operator, and removing an operator.

import { Alert, Autocomplete, FormControlLabel, Radio, RadioGroup, TextField, Typography } from "@mui/material";
import { useState } from "react";
import type { NewOperatorBody, OperatorInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { useDeclared, useSession } from "../shell/site-context.ts";
import { useEdited } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";

interface AddOperatorProps {
  readonly onSubmit: (added: NewOperatorBody) => Promise<unknown>;
  readonly onClose: () => void;
}

export function AddOperator({ onSubmit, onClose }: AddOperatorProps) {
  const [name, setName] = useState("");
  const [managed, setManaged] = useState<ManagedSites>({ isForAll: false, sites: [] });
  const sites = sitesOf(managed);
  return (
    <ActionDialog
      title={translate("operators.add")}
      action={translate("general.create")}
      isEdited={useEdited([name, managed])}
      isDisabled={sites?.length === 0}
      onConfirm={() => onSubmit({ name: name.trim(), sites })}
      onClose={onClose}
    >
      <TextField
        autoFocus
        required
        label={translate("operators.name")}
        helperText={translate("operators.name_help")}
        value={name}
        onChange={({ target }) => setName(target.value)}
        slotProps={{ htmlInput: { maxLength: 64, autoComplete: "off" } }}
      />
      <SitesChoice value={managed} onChange={setManaged} />
    </ActionDialog>
  );
}

interface ChangeSitesProps {
  readonly operator: OperatorInfo;
  /** Whether no other operator manages all sites. */
  readonly isLast: boolean;
  readonly onSubmit: (sites: readonly string[] | null) => Promise<unknown>;
  readonly onClose: () => void;
}

export function ChangeSites({ operator, isLast, onSubmit, onClose }: ChangeSitesProps) {
  const { operator: own } = useSession();
  const [managed, setManaged] = useState<ManagedSites>({
    isForAll: operator.sites === null,
    sites: operator.sites ?? [],
  });
  const sites = sitesOf(managed);
  const isLimited = operator.sites === null && sites !== null;
  const { name } = operator;
  return (
    <ActionDialog
      title={translate("operators.sites_title", { name })}
      action={translate(isLimited && isLast ? "operators.limit_last_confirm" : "general.save")}
      isDangerous={isLimited}
      isEdited={useEdited(managed)}
      isDisabled={sites?.length === 0}
      onConfirm={() => onSubmit(sites)}
      onClose={onClose}
    >
      <Typography>{translate("operators.sites_explain")}</Typography>
      <SitesChoice value={managed} onChange={setManaged} />
      {isLimited && name === own && <Alert severity="warning">{translate("operators.limit_self")}</Alert>}
      {isLimited && isLast && <Alert severity="error">{translate("operators.remove_last", { name })}</Alert>}
    </ActionDialog>
  );
}

interface RemoveOperatorProps {
  readonly operator: OperatorInfo;
  /** Whether this is the last operator of all sites. */
  readonly isLast: boolean;
  readonly onRemove: () => Promise<unknown>;
  readonly onClose: () => void;
}

export function RemoveOperator({ operator: { name }, isLast, onRemove, onClose }: RemoveOperatorProps) {
  const { operator: own } = useSession();
  return (
    <ActionDialog
      title={translate("operators.remove_title", { name })}
      action={translate(isLast ? "operators.remove_last_confirm" : "operators.remove")}
      isDangerous
      onConfirm={onRemove}
      onClose={onClose}
    >
      <Typography>{translate("operators.remove_explain")}</Typography>
      {name === own && <Alert severity="warning">{translate("operators.remove_self")}</Alert>}
      {isLast && <Alert severity="error">{translate("operators.remove_last", { name })}</Alert>}
    </ActionDialog>
  );
}

/** The sites that an operator may manage. */
interface ManagedSites {
  readonly isForAll: boolean;
  /** Names of the chosen sites. They are kept while `isForAll` is true. */
  readonly sites: readonly string[];
}

/** Converts the choice to the form of the API: null for all sites. */
function sitesOf({ isForAll, sites }: ManagedSites): readonly string[] | null {
  return isForAll ? null : sites;
}

/** Maximum number of options that the list shows at once. */
const maxOptions = 50;

interface SitesChoiceProps {
  readonly value: ManagedSites;
  readonly onChange: (value: ManagedSites) => void;
}

/** The choice of live sites. An operator of a live site may also manage its sandbox. */
function SitesChoice({ value, onChange }: SitesChoiceProps) {
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
          options={known.filter(({ sandboxOf }) => sandboxOf === null).map((site) => site.name)}
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
